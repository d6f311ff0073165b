"""The part ``checks``: the checks of ``doctor --device`` and further ones."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import debug, lax
from ... import numpy as jnp
from ...api import block_until_ready, device_put, jit
from ...api.callbacks import pure_callback
from .checks import CHECKS, Check
from .context import Context
from .programs.journal import Item
from .rows.row import to_dtype

_DTYPES = (
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
    *("float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2"),
)


def items(context: Context) -> Iterator[Item]:
    """Yield the quick checks and further ones."""
    for name, check in {**CHECKS, **MORE_CHECKS}.items():
        yield Item(name, functools.partial(_run_check, check, context))


def _run_check(check: Check, context: Context) -> str | None:
    return check(context.device)


def check_values(device: Any) -> str:
    """Check that values of every dtype come back unchanged as arrays, numbers and text."""
    for name in _DTYPES:
        expected = np.array([[0, 1, 2], [3, 0, 1]]).astype(to_dtype(name))
        array = device_put(expected, device)
        assert np.array_equal(np.asarray(array), expected), f"{name} comes back as {np.asarray(array)}"
        assert np.array_equal(np.asarray(array.T[1]), expected.T[1]), f"a part of {name} comes back wrong"
    number = device_put(np.float32(2.5), device)
    assert (float(number), int(number), number.item(), f"{number:.1f}") == (2.5, 2, 2.5, "2.5")
    listed = device_put(np.arange(3, dtype=np.int32), device)
    assert listed.tolist() == [0, 1, 2] and [int(element) for element in listed] == [0, 1, 2]
    assert repr(listed) == "Array([0, 1, 2], dtype=int32)", repr(listed)
    return f"{len(_DTYPES)} dtypes"


def check_mixed_operands(device: Any) -> None:
    """Check NumPy arrays and Python numbers combined with arrays of the device."""
    x = device_put(np.arange(4, dtype=np.float32), device)
    for result in (x + np.ones(4, np.float32), np.ones(4, np.float32) + x, x + 1, jit(lambda y: y + 1.0)(x)):
        assert result.devices() == {device}, f"the result lies on {result.devices()}"
        assert np.array_equal(np.asarray(result), np.arange(4) + 1)


def check_callbacks(device: Any) -> None:
    """Check that a compiled program calls Python functions and receives their results."""
    received: list[float] = []

    def double(x: Any) -> Any:
        return np.asarray(x) * 2

    def f(x: Any) -> Any:
        debug.callback(lambda value: received.append(float(value)), x[1])
        return pure_callback(double, x, x) + 1

    result = jit(f)(device_put(np.arange(3, dtype=np.float32), device))
    assert np.array_equal(np.asarray(block_until_ready(result)), [1, 3, 5]), np.asarray(result)
    assert received == [1.0], f"the callback heard {received}"


def check_wrong_programs(device: Any) -> None:
    """Check that errors of users raise exceptions and the process goes on."""
    x = device_put(np.ones((2, 3), np.float32), device)

    def reshape(y: Any) -> Any:
        return y.reshape(4)

    def multiply(y: Any) -> Any:
        return y @ y

    for function in (multiply, jit(reshape)):
        try:
            function(x)
        except (TypeError, ValueError):
            continue
        raise AssertionError("a program that is wrong raised nothing")
    assert float(jnp.sum(x)) == 6.0


def check_long_loops(device: Any) -> str:
    """Check a loop of a hundred thousand steps, and a scan that stacks all of its results."""
    count = lax.fori_loop(0, 100_000, lambda i, x: x + 1, device_put(np.int32(0), device))
    assert int(count) == 100_000
    _, partial_sums = lax.scan(lambda c, x: (c + x, c), device_put(np.int32(0), device), jnp.arange(3000))
    assert int(partial_sums[-1]) == 2998 * 2999 // 2
    return "100,000 steps"


MORE_CHECKS: dict[str, Check] = {
    "values": check_values,
    "mixed operands": check_mixed_operands,
    "callbacks": check_callbacks,
    "wrong programs": check_wrong_programs,
    "long loops": check_long_loops,
}
