"""Ten calls of the engine that together exercise every interface to jaxlib.

``runtime/untested_jaxlib.py`` runs this in a separate process for an untested jaxlib. The name of each call is
printed before it runs, so that a call that crashes the process is known. A wrong result is an error as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import inspect, lax, tree_util
from .. import numpy as jnp
from ..api import ShapeDtypeStruct, grad, jit, vmap
from ..api.callbacks import pure_callback


def main() -> None:
    """Run the calls in order; an exception is about the call whose name was printed last."""
    for call in CALLS:
        print(call.__name__.removeprefix("_"), flush=True)
        call()


def _check_close(actual: Any, expected: Any) -> None:
    actual = np.asarray(actual)
    if not np.allclose(actual, expected, rtol=1e-4):
        raise AssertionError(f"the result is {actual}, not {expected}")


def _arrays() -> None:
    x = jnp.asarray(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    _check_close(x, [[0, 1, 2], [3, 4, 5]])
    if (x.shape, str(x.dtype), len(x.devices())) != ((2, 3), "float32", 1):
        raise AssertionError(f"the array says {x.shape}, {x.dtype}, {x.devices()}")


def _calls() -> None:
    f: Any = jit(lambda x, scale: {"y": x * scale})
    for scale in (2.0, 3.0, np.float32(4.0)):  # the second call takes jaxlib's C++ fast path
        _check_close(f(jnp.ones(3), scale)["y"], [scale] * 3)


def _derivatives() -> None:
    gradient = vmap(grad(lambda x: jnp.sin(x) ** 2))
    x = np.linspace(0.0, 1.0, 4, dtype=np.float32)
    _check_close(jit(gradient)(x), np.sin(2 * x))


def _loops() -> None:
    total, partial_sums = jit(lambda x: lax.scan(lambda c, a: (c + a, c), 0.0, x))(jnp.arange(4.0))
    _check_close(total, 6.0)
    _check_close(partial_sums, [0, 0, 1, 3])


def _factorizations() -> None:
    matrix = np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)
    _check_close(jnp.linalg.cholesky(matrix), [[2, 0], [1, 2]])


def _trees() -> None:
    tree = {"a": (1.0, [2.0]), "b": None}
    leaves, structure = tree_util.tree_flatten(tree)
    if (leaves, tree_util.tree_unflatten(structure, leaves)) != ([1.0, 2.0], tree):
        raise AssertionError(f"the leaves of a tree are {leaves}")


def _callbacks() -> None:
    shape = ShapeDtypeStruct((2,), np.float32)
    f: Any = jit(lambda x: pure_callback(lambda v: np.asarray(v) + 1, shape, x))
    _check_close(f(jnp.ones(2)), [2, 2])


def _executables() -> None:
    f: Any = jit(lambda x: x @ x)
    compiled = f.lower(jnp.ones((2, 2))).compile()
    _check_close(compiled(jnp.ones((2, 2))), 2.0)
    if "ENTRY" not in compiled.as_text() or compiled.memory_analysis().argument_size_in_bytes != 16:
        raise AssertionError("the optimized program does not say what it is")


def _records() -> None:
    inspection = inspect.explore(lambda x: jnp.tanh(x) + 1.0, jnp.ones(8))
    if not inspection.records or "tanh" not in str(inspection):
        raise AssertionError(f"the records of a program are {inspection}")


def _kernels() -> None:
    text = str(inspect.fusions(lambda x: jnp.exp(x) * 2.0, jnp.ones(8)))
    if "exp" not in text:
        raise AssertionError(f"what XLA fused reads {text}")


CALLS: tuple[Callable[[], None], ...] = (
    *(_arrays, _calls, _derivatives, _loops, _factorizations),
    *(_trees, _callbacks, _executables, _records, _kernels),
)

if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
