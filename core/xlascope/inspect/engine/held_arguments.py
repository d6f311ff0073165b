"""Holder of the arguments of the latest calls of xlascope's functions."""

from __future__ import annotations

from typing import Any

from ... import tree
from ...control.jit.events import call_listeners
from ...control.jit.jit_function import jit_function
from ...control.jit.jitted import Jitted
from ...control.jit.retrace_reasons import is_of_library
from ...xla.arrays.memory_check import available_bytes
from ...xla.devices.backend import default_device
from ..running.engines import ReplayableCall
from ..running.held_arguments import HeldArguments
from .traced_calls import jitted_of


class EngineArgumentHolder(HeldArguments[Jitted]):
    """Holder of the arguments of the latest call of each function that ``xlascope.jit`` made."""

    def __init__(self) -> None:
        super().__init__()
        call_listeners.append(self._hold_python_call)

    def _end(self) -> None:
        if self._hold_python_call in call_listeners:
            call_listeners.remove(self._hold_python_call)

    def _function_of(self, key: Any) -> Jitted | None:
        return jitted_of(key)

    def _name_of(self, function: Jitted) -> str:
        return function.name

    def _is_of_library(self, function: Jitted) -> bool:
        return is_of_library(function.function)

    def _donates(self, function: Jitted) -> bool:
        return bool(function.options.donate_argnums or function.options.donate_argnames)

    def _leaves(self, arguments: Any) -> list[Any]:
        return tree.leaves(arguments)

    def _read_free_bytes(self) -> int:
        return available_bytes(default_device()) or 0

    def _as_call(self, function: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ReplayableCall:
        numbers = tuple(traced.number for traced in function.traces.all().values())
        return ReplayableCall(jit_function(function.function, function.options), args, kwargs, numbers)
