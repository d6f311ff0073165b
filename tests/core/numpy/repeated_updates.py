"""Updates at indices that name elements several times, that leave the array, or that promise something."""

from __future__ import annotations

from typing import Any

import numpy as np

VALUES = {
    "x": np.array([1.5, -2.0, 3.0, 0.5], np.float32),
    "m": (np.arange(12, dtype=np.float32).reshape(3, 4) - 5) / 4,
    "k": np.array([4, 7, -2, 9], np.int32),
    "i": np.array([1, 3, 1, 1], np.int32),
    "o": np.array([0, 9, -1, -9, 0], np.int32),
    "v": np.array([2.0, -0.5, 3.0, 1.5], np.float32),
    "w": np.array([2.0, 3.0, -1.0, 0.5, 4.0], np.float32),
    "z": np.array([1 + 2j, -1j, 0.5, 2], np.complex64),
}
_HOW = ("add", "subtract", "multiply", "mul", "divide", "power", "min", "max")
ROWS = [
    *(f"x.at[i].{how}(v)" for how in _HOW if how != "power"),
    *(f"x.at[o].{how}(2.0)" for how in _HOW),
    *(f"x.at[o].{how}(w, mode='clip')" for how in _HOW if how != "power"),
    *(f"x.at[2].{how}(2.0)" for how in _HOW),
    *(f"x.at[1:3].{how}(v[:2])" for how in _HOW if how != "power"),
    *(f"m.at[i[:2], 1:].{how}(2.0)" for how in _HOW if how != "power"),
    *(f"m.at[:, i].{how}(v)" for how in _HOW if how != "power"),
    *(f"k.at[i].{how}(2)" for how in _HOW if how not in ("divide", "power")),
    *(f"x.at[i[:2]].{how}(v[:2], unique_indices=True, indices_are_sorted=True)" for how in _HOW if how != "power"),
    *(f"z.at[i].{how}(2j)" for how in ("add", "subtract", "multiply", "divide")),
    "x.at[i].apply(lambda y: y * y + 1)",
    "x.at[o].apply(lambda y: y * 3)",
    "x.at[1].apply(jnp.sin)",
    "m.at[i[:2], i[2:]].apply(lambda y: y + 1)",
    "x.at[o].get()",
    "x.at[o].get(mode='fill')",
    "x.at[o].get(mode='fill', fill_value=7)",
    "x.at[o].get(mode='clip')",
    "x.at[o].get(mode='promise_in_bounds')",
    "x.at[o].get(mode='wrong')",
    "k.at[o].get(mode='fill')",
    "z.at[o].get(mode='fill')",
    "x.at[o].set(1.0, mode='wrong')",
    "m.at[o, 1].get(mode='fill', fill_value=-1)",
]
# What is differentiated: by jax too, so without what it does not differentiate.
GRADIENTS = {
    "multiply, unique": ("lambda x, v: x.at[np.array([0, 2, 1, 3])].multiply(v, unique_indices=True)", "xv"),
    "multiply, one": ("lambda x, v: x.at[1].multiply(v[0], unique_indices=True)", "xv"),
    "multiply, array": ("lambda x: x.at[np.array([1, 1])].multiply(3.0)", "x"),
    "min": ("lambda x, v: x.at[np.array([0, 2, 0, 3])].min(v)", "xv"),
    "max": ("lambda x, v: x.at[np.array([0, 2, 0, 3])].max(v)", "xv"),
    "max of equals": ("lambda x, v: x.at[np.array([0, 0, 0, 2])].max(jnp.round(v * 0 + 1.5, 1) + 0 * x)", "xv"),
    "min of equals": ("lambda x, v: (x * 0 + 1).at[np.array([1, 1, 2, 2])].min(v * 0 + 1) * x", "xv"),
    "max outside": ("lambda x, v: x.at[np.array([9, 0, -1, -9])].max(v)", "xv"),
    "subtract": ("lambda x, v: x.at[np.array([1, 1, 9, 0])].subtract(v * v)", "xv"),
    "divide, unique": ("lambda x, v: x.at[np.array([0, 2, 1, 3])].divide(v, unique_indices=True)", "xv"),
    "get, filled": ("lambda x: x.at[np.array([0, 9, 1])].get(mode='fill', fill_value=2.0)", "x"),
    "get, clipped": ("lambda x: x.at[np.array([0, 9, 1])].get(mode='clip')", "x"),
}


def evaluate(library: Any, row: str) -> Any:
    """What a row gives, or the name of the builtin class of its error."""
    arrays = {name: library.numpy.asarray(value) for name, value in VALUES.items()}
    try:
        return np.asarray(eval(row, {"jnp": library.numpy, "np": np, **arrays}))
    except Exception as error:
        return "raises " + next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def gradient(library: Any, name: str) -> list[np.ndarray]:
    """The gradient of the sum of a function's result times fixed weights, and how it moves."""
    text, names = GRADIENTS[name]
    function = eval(text, {"jnp": library.numpy, "np": np})

    def total(*operands: Any) -> Any:
        y = function(*operands)
        return (y * np.arange(1, y.size + 1, dtype=np.float32).reshape(y.shape)).sum()

    operands = tuple(library.numpy.asarray(VALUES[each]) for each in names)
    every = tuple(range(len(names)))

    @library.jit
    def both(*operands: Any) -> Any:
        return library.grad(total, every)(*operands), library.jvp(function, operands, operands)

    found, (value, moved) = both(*operands)
    return [np.asarray(x) for x in (*found, value, moved)]


def every(library: Any) -> Any:
    """What all rows and gradients give."""
    return {row: evaluate(library, row) for row in ROWS}, {name: gradient(library, name) for name in GRADIENTS}
