"""Python numbers among the arguments of compiled functions, as arrays that stay on the device."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..cache_keys import scalar_bits
from ..lru_cache import FastLRUCache
from ..runtime.boot import enable_x64
from ..trace.state import STATE
from ..trace.values import aval_of
from ..xla.arrays.transfers import put_on_device

F = TypeVar("F", bound=Callable[..., Any])

_MAX_BITS = 31
_arrays: FastLRUCache[Any, Any] = FastLRUCache(2048)


def keep_numbers(first: int, last: int) -> Callable[[F], F]:
    """Return a decorator that passes Python numbers to a compiled function as weakly typed arrays that are kept.

    jaxlib transfers a number at each call, which takes a quarter of a short one. ``first`` and ``last`` are the
    positions of the first and the last argument that may be such numbers. The function must not return them unchanged:
    the arrays serve later calls. Under a trace the numbers stay as they are.
    """

    def decorate(function: F) -> F:
        names = frozenset(inspect.unwrap(function).__code__.co_varnames[first : last + 1])

        @functools.wraps(function)
        def call_with_arrays(*args: Any, **kwargs: Any) -> Any:
            if STATE.trace is None:
                if len(args) > first:
                    args = (*args[:first], *map(_as_array, args[first : last + 1]), *args[last + 1 :])
                if kwargs:
                    kwargs = {name: _as_array(x) if name in names else x for name, x in kwargs.items()}
            return function(*args, **kwargs)

        return call_with_arrays  # type: ignore[return-value]

    return decorate


def _as_array(x: Any) -> Any:
    """Return a float, or an integer of 32 bits, as a weakly typed array; anything else as it is."""
    kind = x.__class__
    if kind is float or (kind is int and x.bit_length() <= _MAX_BITS):
        key = x or scalar_bits(x), kind, enable_x64.value
        array = _arrays.get(key)
        if array is None:
            array = _arrays.promote(key)
        return _arrays.insert(key, put_on_device(x, aval_of(x))) if array is None else array
    return x
