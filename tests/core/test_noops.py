"""Calls of every public function with NumPy arrays that may leave it nothing to do: what do they give back?

Every function of the modules is traced for every row of arguments; where the result is no tracer, nothing was recorded
for it, and the call is made again outside of any trace.
"""

import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from types import GenericAlias
from typing import Any

import numpy as np

import xlascope as xs
from xlascope import lax, nn, ops, random, tree
from xlascope import numpy as jnp
from xlascope.trace.tracer import TracerBase

MODULES: tuple[types.ModuleType, ...] = (jnp, lax, nn, ops, random)

#: They tell something about NumPy's objects, read or write files, or hand trees through.
NOT_OF_ARRAYS = {
    *("iterable", "isscalar", "ndim", "shape", "size", "result_type", "promote_types", "can_cast", "issubdtype"),
    *("save", "savez", "load", "fromfile", "get_printoptions", "set_printoptions", "printoptions", "array_repr"),
    *("array_str", "array_equal", "array_equiv", "dtype", "finfo", "iinfo", "vectorize"),
}


def arrays() -> Iterator[Any]:
    """Kinds of NumPy values: one for each call, as it will be written to."""
    yield np.ones(3, np.float32)
    yield np.ones((1, 3), np.int32)
    yield np.array(1.0, np.float32)
    yield np.float32(1)
    yield np.zeros(2, np.uint32)


ROWS: tuple[Callable[[Any], tuple[Any, ...]], ...] = (
    lambda x: (x,),
    lambda x: (x, x),
    lambda x: (x, x, x),
    lambda x: (x, x.shape),
    lambda x: (x, x.dtype),
    lambda x: (x, 0),
    lambda x: (x, 0, 0),
    lambda x: (x, ()),
    lambda x: (x, (), ()),
    lambda x: (x, tuple(range(x.ndim))),
    lambda x: (x, x.shape, tuple(range(x.ndim))),
    lambda x: ([x],),
    lambda x: ([x], 0),
    lambda x: (x, None),
    lambda x: (x, [(0, 0, 0)] * x.ndim),
    lambda x: (x, [(0, 0)] * x.ndim),
    lambda x: ((), x),
    lambda x: (0, [lambda y: y], x),
    lambda x: (x, np.float32(0), [(0, 0, 0)] * x.ndim),
    lambda x: (np.bool_(True), x, x),
)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of the modules."""
    for module in MODULES:
        for name in sorted(dir(module)):
            if name.startswith("_") or name in NOT_OF_ARRAYS:
                continue
            found = getattr(module, name)
            if callable(found) and not isinstance(found, type | GenericAlias) and not inspect.ismodule(found):
                yield f"{module.__name__}.{name}", found


def nothing_recorded(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a call succeeds and gives something that is no tracer."""
    found: list[bool] = []

    def traced() -> None:
        found.extend(not isinstance(leaf, TracerBase) for leaf in tree.leaves(function(*args)))

    try:
        xs.make_jaxpr(traced)()
    except Exception:
        return False
    return any(found)


def given_back() -> Iterator[tuple[str, str, Any, Any]]:
    """The function, the row, the argument and the result of each call that has nothing to do."""
    for name, function in functions():
        for number, row in enumerate(ROWS):
            for x in arrays():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if nothing_recorded(function, row(x)):
                        try:
                            result = function(*row(x))
                        except Exception:
                            continue
                        yield name, f"row {number}, {x!r}", x, result


def test_no_function_gives_back_what_numpy_holds() -> None:
    calls = 0
    for name, row, x, result in given_back():
        calls += 1
        for leaf in tree.leaves(result):
            assert not isinstance(leaf, (np.ndarray, np.generic)), (name, row)
            if isinstance(x, np.ndarray) and isinstance(leaf, xs.Array):
                before = np.array(leaf)
                x[...] = 0 if x.any() else 1
                assert np.asarray(leaf).tobytes() == before.tobytes(), (name, row)
    assert calls > 100
