"""Holder of the arguments of the latest calls, so that a call whose results hold NaN can be made again."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from ... import tree
from ...control.jit.events import call_listeners
from ...control.jit.jit_function import jit_function
from ...control.jit.jitted import Jitted
from ...control.jit.retrace_reasons import is_of_library
from ...xla.arrays.memory_check import available_bytes
from ...xla.devices.backend import default_device
from ..inspection_scope import inspecting
from ..running.engines import ReplayableCall
from .traced_calls import jitted_of

#: The largest share of the free memory that all held arguments take, and the number of functions whose are held.
MAX_FREE_MEMORY_SHARE, MAX_HELD_FUNCTIONS = 0.05, 8
#: Seconds for which a number of free bytes is used again.
MAX_MEMORY_AGE_SECONDS = 1.0


class EngineArgumentHolder:
    """Holder of the arguments of the latest call of each jitted function of the user's, until :meth:`stop`.

    Donated arguments are never held, nor those of functions of the library. Arrays of NumPy are held by reference.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._arguments: dict[Jitted, tuple[Any, Any]] = {}
        self._sizes: dict[Jitted, int] = {}
        self._reasons: dict[str, str] = {}
        self._memory = (float("-inf"), 0)
        call_listeners.append(self._hold_python_call)

    def holds(self, key: Any, arguments: Any) -> bool:
        """Return whether the arguments of the latest call of a function may be held; note why not."""
        jitted = jitted_of(key)
        return jitted is not None and self._may_hold(jitted, arguments)

    def stop(self, arguments: Mapping[Any, Any]) -> tuple[list[ReplayableCall], list[str]]:
        """Return the latest calls that can be made again, latest first, and why others cannot."""
        if self._hold_python_call in call_listeners:
            call_listeners.remove(self._hold_python_call)
        for key, latest in arguments.items():
            jitted = jitted_of(key)
            if jitted is not None:
                self._arguments.pop(jitted, None)
                self._arguments[jitted] = latest
        calls = [_as_call(jitted, *latest) for jitted, latest in reversed(self._arguments.items())]
        self._arguments.clear()
        return calls, list(self._reasons.values())

    def _hold_python_call(self, jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if inspecting() or threading.get_ident() != self._thread:
            return
        self._arguments.pop(jitted, None)
        if self._may_hold(jitted, (args, kwargs)):
            self._arguments[jitted] = args, kwargs

    def _may_hold(self, jitted: Jitted, arguments: Any) -> bool:
        self._sizes.pop(jitted, None)
        if is_of_library(jitted.function):
            return False
        if jitted.options.donate_argnums or jitted.options.donate_argnames:
            self._reasons[jitted.name] = f"{jitted.name} donates arguments"
            return False
        if len(self._reasons) > MAX_HELD_FUNCTIONS:
            return False
        size = sum(int(getattr(leaf, "nbytes", 0)) for leaf in tree.leaves(arguments))
        is_small = size + sum(self._sizes.values()) <= MAX_FREE_MEMORY_SHARE * self._free_bytes()
        if not is_small or len(self._sizes) >= MAX_HELD_FUNCTIONS:
            limit = f"{MAX_FREE_MEMORY_SHARE:.0%} of the free memory" if not is_small else "those of other functions"
            self._reasons[jitted.name] = f"the arguments of {jitted.name} are not kept beside {limit}"
            if not is_small:
                self._reasons[jitted.name] = f"the arguments of {jitted.name} take more than {limit}"
            return False
        self._reasons.pop(jitted.name, None)
        self._sizes[jitted] = size
        return True

    def _free_bytes(self) -> int:
        read, free = self._memory
        if time.monotonic() - read > MAX_MEMORY_AGE_SECONDS:
            free = available_bytes(default_device()) or 0
            self._memory = time.monotonic(), free
        return free


def _as_call(jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ReplayableCall:
    numbers = tuple(traced.number for traced in jitted.traces.all().values())
    return ReplayableCall(jit_function(jitted.function, jitted.options), args, dict(kwargs or {}), numbers)
