"""Arguments of the latest calls of an engine's functions, so that a call whose results hold NaN can be made again."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from ..inspection_scope import inspecting
from .engines import ReplayableCall

#: The largest share of the free memory that all held arguments take, and the number of functions whose are held.
MAX_FREE_MEMORY_SHARE, MAX_HELD_FUNCTIONS = 0.05, 8
#: Seconds for which a number of free bytes is used again.
MAX_MEMORY_AGE_SECONDS = 1.0

Function = TypeVar("Function")


class HeldArguments(ABC, Generic[Function]):
    """Holder of the arguments of the latest call of each jitted function of the user's, until :meth:`stop`.

    Donated arguments are never held, nor those of functions of a library. Arrays of NumPy are held by reference.
    ``Function`` is what an engine identifies a jitted function by.
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._arguments: dict[Function, tuple[Any, Any]] = {}
        self._sizes: dict[Function, int] = {}
        self._reasons: dict[str, str] = {}
        self._memory = (float("-inf"), 0)

    @abstractmethod
    def _function_of(self, key: Any) -> Function | None:
        """Return the function that calls are counted by ``key`` of; None if it is not jitted."""

    @abstractmethod
    def _name_of(self, function: Function) -> str: ...

    @abstractmethod
    def _is_of_library(self, function: Function) -> bool: ...

    @abstractmethod
    def _donates(self, function: Function) -> bool: ...

    @abstractmethod
    def _leaves(self, arguments: Any) -> Iterable[Any]: ...

    @abstractmethod
    def _read_free_bytes(self) -> int: ...

    @abstractmethod
    def _as_call(self, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ReplayableCall: ...

    @abstractmethod
    def _end(self) -> None:
        """End listening to calls that go through Python."""

    def holds(self, key: Any, arguments: Any) -> bool:
        """Return whether the arguments of the latest call of a function may be held; note why not."""
        function = self._function_of(key)
        return function is not None and self._may_hold(function, arguments)

    def stop(self, arguments: Mapping[Any, Any]) -> tuple[list[ReplayableCall], list[str]]:
        """Return the latest calls that can be made again, latest first, and why others cannot."""
        self._end()
        for key, latest in arguments.items():
            function = self._function_of(key)
            if function is not None:
                self._arguments.pop(function, None)
                self._arguments[function] = latest
        latest_calls = reversed(self._arguments.items())
        calls = [self._as_call(function, args, dict(kwargs or {})) for function, (args, kwargs) in latest_calls]
        self._arguments.clear()
        return calls, list(self._reasons.values())

    def _hold_python_call(self, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Hold the arguments of a call that goes through Python, if they may be held."""
        if inspecting() or threading.get_ident() != self._thread:
            return
        self._arguments.pop(function, None)
        if self._may_hold(function, (args, kwargs)):
            self._arguments[function] = args, kwargs

    def _may_hold(self, function: Function, arguments: Any) -> bool:
        self._sizes.pop(function, None)
        if self._is_of_library(function):
            return False
        name = self._name_of(function)
        if self._donates(function):
            self._reasons[name] = f"{name} donates arguments"
            return False
        if len(self._reasons) > MAX_HELD_FUNCTIONS:
            return False
        size = sum(int(getattr(leaf, "nbytes", 0)) for leaf in self._leaves(arguments))
        is_small = size + sum(self._sizes.values()) <= MAX_FREE_MEMORY_SHARE * self._free_bytes()
        if not is_small or len(self._sizes) >= MAX_HELD_FUNCTIONS:
            limit = f"{MAX_FREE_MEMORY_SHARE:.0%} of the free memory" if not is_small else "those of other functions"
            self._reasons[name] = f"the arguments of {name} are not kept beside {limit}"
            if not is_small:
                self._reasons[name] = f"the arguments of {name} take more than {limit}"
            return False
        self._reasons.pop(name, None)
        self._sizes[function] = size
        return True

    def _free_bytes(self) -> int:
        read, free = self._memory
        if time.monotonic() - read > MAX_MEMORY_AGE_SECONDS:
            free = self._read_free_bytes()
            self._memory = time.monotonic(), free
        return free
