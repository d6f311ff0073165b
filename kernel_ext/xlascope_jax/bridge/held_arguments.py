"""Holder of the arguments of the latest calls of jax's functions, so that one can be made again for its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jax import tree_util

from xlascope.inspect.arrays.host_array import free_bytes
from xlascope.inspect.running.engines import ReplayableCall
from xlascope.inspect.running.held_arguments import HeldArguments

from .jax_compat import jit_again
from .stage_hooks import StageHooks


@dataclass(frozen=True)
class _Jitted:
    """Function of a user that ``jax.jit`` was given, with jax's description of its options."""

    identity: int
    function: Any = field(compare=False)
    info: Any = field(compare=False)


class JaxArgumentHolder(HeldArguments[_Jitted]):
    """Holder of the arguments of the latest call of each function that ``jax.jit`` made."""

    def __init__(self, stages: StageHooks) -> None:
        super().__init__()
        self._stages = stages
        stages.call_listeners.append(self._hold_call)

    def _hold_call(self, function: Any, info: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._hold_python_call(_Jitted(id(function), function, info), args, kwargs)

    def _end(self) -> None:
        if self._hold_call in self._stages.call_listeners:
            self._stages.call_listeners.remove(self._hold_call)

    def _function_of(self, key: Any) -> _Jitted | None:
        function, info = getattr(key, "_fun", None), getattr(key, "_jit_info", None)
        return None if function is None or info is None else _Jitted(id(function), function, info)

    def _name_of(self, function: _Jitted) -> str:
        return str(getattr(function.function, "__name__", "the function"))

    def _is_of_library(self, function: _Jitted) -> bool:
        return str(getattr(function.function, "__module__", "")).startswith("jax.")

    def _donates(self, function: _Jitted) -> bool:
        return bool(function.info.donate_argnums or function.info.donate_argnames)

    def _leaves(self, arguments: Any) -> list[Any]:
        return list(tree_util.tree_leaves(arguments))

    def _read_free_bytes(self) -> int:
        return free_bytes()

    def _as_call(self, function: _Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ReplayableCall:
        numbers = tuple(entry.number for entry in self._stages.programs.of_function(function.function))
        return ReplayableCall(jit_again(function.function, function.info), args, kwargs, numbers)
