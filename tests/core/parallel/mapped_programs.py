"""Collectives across devices and across the examples of vmap, each inside of every transformation."""

import functools
import importlib.util
from pathlib import Path

import numpy as np

_spec = importlib.util.spec_from_file_location("axis_names", Path(__file__).parents[1] / "transforms" / "axis_names.py")
rows = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rows)
ROWS = {**rows.LINEAR, **rows.OTHERS}
SMOOTH = rows.SMOOTH


def _ways(lib, mapping, f, smooth):
    """What a function gives mapped over an axis named "i", its derivatives, and for two such arrays at once."""
    mapped = mapping(f)
    found = {"value": mapped, "two at once": lambda X: lib.vmap(mapping(f))(lib.numpy.stack([X, X + 1]))}
    if smooth:
        found["cotangent"] = lambda X: (lambda y, back: back(rows.weights(lib, y)))(*lib.vjp(mapped, X))
        found["tangent"] = lambda X: lib.jvp(mapped, (X,), (X * X,))[1]
        found["vjp inside"] = mapping(rows.pulled(lib, f))
    return lambda X: {name: way(X) for name, way in found.items()}


def every(lib):
    """For each row and way the largest difference between pmap and vmap, as a part of the largest element."""
    found = {}
    for name, row in ROWS.items():
        f = functools.partial(row, lib.lax)
        by_device = lib.jit(_ways(lib, lambda g: lib.pmap(g, axis_name="i"), f, name in SMOOTH))(rows.X)
        at_once = lib.jit(_ways(lib, lambda g: lib.vmap(g, axis_name="i"), f, name in SMOOTH))(rows.X)
        for way in by_device:
            pairs = zip(lib.tree.leaves(by_device[way]), lib.tree.leaves(at_once[way]), strict=True)
            found[name, way] = max(_apart(np.asarray(x), np.asarray(y)) for x, y in pairs)
    return found


def _apart(x, y):
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        return float("inf")
    return (
        float(np.abs(x - y).max(initial=0) / max(np.abs(y).max(initial=0), 1.0)) if x.dtype != bool else (x != y).sum()
    )
