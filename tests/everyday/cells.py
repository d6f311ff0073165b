"""The cells of the table "called four times": a kind of argument, a way to call, a placement, watched or not, and
whether the argument's value changes from call to call.

Each cell computes an affine function of `a`, an array of shape (8, 2), with an argument `s` of the cell's kind. The
engine is a parameter: xlascope, or jax as the oracle.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

DEVICES = 8
A = np.arange(16, dtype="float32").reshape(DEVICES, 2) / 4 + 1
PLACEMENTS = ("one device", "sharded", "replicated", "set_mesh")


class Cell(NamedTuple):
    """One cell of the table."""

    kind: str
    way: str
    placement: str
    watched: bool
    changing: bool

    @property
    def name(self) -> str:
        marks = ["watched"] * self.watched + ["changing value"] * self.changing
        return " | ".join([self.kind, self.way, self.placement, *marks])


# Kinds of argument ---------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of argument: ``make(engine, number)`` makes its value, of which there are two, and ``combine(a, s)`` uses
    it, with arrays of NumPy as well; ``numbers`` stand for values that NumPy does not know.
    """

    make: Callable[[Any, int], Any]
    combine: Callable[[Any, Any], Any]
    numbers: tuple[Any, Any] | None = None


def _multiply(a: Any, s: Any) -> Any:
    return a * s


def _widen(a: Any, s: Any) -> Any:
    return a * s.astype("float32")


def _make_constant(first: Any, second: Any, combine: Callable[[Any, Any], Any] = _multiply) -> Kind:
    return Kind(lambda engine, number: (first, second)[number], combine)


def _make_fresh(make: Callable[[int], Any], combine: Callable[[Any, Any], Any] = _multiply) -> Kind:
    """Make a kind of which each call gets an object of its own."""
    return Kind(lambda engine, number: make(number + 2), combine)


def _make_on_device(dtype: str, shape: tuple[int, ...], combine: Callable[[Any, Any], Any] = _multiply) -> Kind:
    return Kind(lambda engine, number: engine.numpy.full(shape, number + 2, dtype), combine)


def _make_read_only(number: int) -> Any:
    return np.broadcast_to(np.float32(number), (2,))


_SCALARS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
_SCALARS += ["float16", "float32", "float64", "complex64", "complex128", "bfloat16"]
#: What `uniform(key)` gives for the keys of the seeds 0 and 1 (jax's numbers).
_UNIFORM = (np.float32(0.947667), np.float32(0.4386325))

KINDS: dict[str, Kind] = {
    "bool": _make_constant(True, False),
    "int": _make_constant(3, 2),
    "float": _make_constant(0.5, 0.25),
    "complex": _make_constant(1j, 2.0 - 1j),
    "list": _make_fresh(lambda n: [0.5 * n, n], lambda a, s: a * s[0] + s[1]),
    "tree": _make_fresh(lambda n: {"a": 0.5 * n, "b": (True, 1j), "c": None}, lambda a, s: a * s["a"] + s["b"][1]),
    "None": _make_constant(None, None, lambda a, s: a + 1.0),
    "numpy bool_": _make_constant(np.True_, np.False_),
    **{f"numpy {name}": _make_fresh(lambda n, dtype=name: np.dtype(dtype).type(n)) for name in _SCALARS},
    **{f"0-d {name}": _make_fresh(lambda n, dtype=name: np.array(n, dtype)) for name in _SCALARS},
    "list of numpy scalars": _make_fresh(lambda n: [np.float64(n), np.int64(n)], lambda a, s: a * s[0] + s[1]),
    "array float32": _make_fresh(lambda n: np.full(2, n, "float32")),
    "array float64": _make_fresh(lambda n: np.full(2, n, "float64")),
    "array int64": _make_fresh(lambda n: np.full(2, n, "int64")),
    "array bool": _make_fresh(lambda n: np.full(2, n == 2)),
    "array big-endian": _make_fresh(lambda n: np.full(2, n, ">f4")),
    "array big-endian int16": _make_fresh(lambda n: np.full(2, n, ">i2")),
    "array strided": _make_fresh(lambda n: np.arange(n, n + 4, dtype="float32")[::-2]),
    "array read-only": _make_fresh(_make_read_only),
    "array bfloat16": _make_fresh(lambda n: np.full(2, n, ml_dtypes.bfloat16)),
    "array float16": _make_fresh(lambda n: np.full(2, n, "float16")),
    "array int4": _make_fresh(lambda n: np.full(2, n, ml_dtypes.int4), _widen),
    "array float8": _make_fresh(lambda n: np.full(2, n, ml_dtypes.float8_e4m3fn), _widen),
    "typed key": Kind(lambda engine, number: engine.random.key(number), _multiply, _UNIFORM),
    "raw key": Kind(lambda engine, number: engine.random.PRNGKey(number), _multiply, _UNIFORM),
    "list of typed keys": Kind(lambda engine, number: [engine.random.key(number)], _multiply, _UNIFORM),
    "device scalar": _make_on_device("float32", ()),
    "device array": _make_on_device("float32", (2,)),
    "device int32": _make_on_device("int32", (2,)),
    "device bfloat16": _make_on_device("bfloat16", (2,)),
    "device int4": _make_on_device("int4", (2,), _widen),
}


def _bind_combine(engine: Any, kind: Kind) -> Callable[[Any, Any], Any]:
    """Return the function of `a` and `s` that the engine computes: a new one, of which nothing is compiled yet."""
    if kind.numbers is None:
        return lambda a, s: kind.combine(a, s)
    return lambda a, s: a * engine.random.uniform(s[0] if isinstance(s, list) else s, ())


# Placements ----------------------------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """Where a cell computes: on a mesh, or on one device, whose arrays are not committed; and the two shardings."""

    engine: Any
    body: Callable[[Any, Any], Any]
    mesh: Any
    rows: Any
    whole: Any
    is_sharded: bool

    @property
    def sharding(self) -> Any:
        """How `a` lies where it is committed."""
        return self.rows if self.is_sharded else self.whole

    def operand(self) -> Any:
        """Return the operand `a`, a new array each time."""
        if self.mesh is None:
            return self.engine.numpy.asarray(A)
        return self.engine.device_put(A, self.sharding)

    def argument(self, value: Any) -> Any:
        """Return an argument where the cell wants it: arrays of the engine are replicated over the mesh."""
        is_array = isinstance(value, self.engine.Array)
        return self.engine.device_put(value, self.whole) if is_array and self.mesh is not None else value


@contextlib.contextmanager
def _place(engine: Any, cell: Cell, body: Callable[[Any, Any], Any]) -> Iterator[Setting]:
    if cell.placement == "one device":
        one = engine.sharding.SingleDeviceSharding(engine.devices()[0])
        yield Setting(engine, body, None, one, one, True)
        return
    spec = engine.sharding.PartitionSpec
    explicit = cell.placement == "set_mesh"
    mesh = _make_explicit_mesh(engine) if explicit else engine.sharding.Mesh(np.array(engine.devices()), ("x",))
    rows, whole = (engine.sharding.NamedSharding(mesh, each) for each in (spec("x"), spec()))
    with engine.set_mesh(mesh) if explicit else contextlib.nullcontext():
        yield Setting(engine, body, mesh, rows, whole, cell.placement != "replicated")


def _make_explicit_mesh(engine: Any) -> Any:
    return engine.make_mesh((DEVICES,), ("x",))


# Ways to call --------------------------------------------------------------------------------------------------------

#: A way to call: from a setting to a function of `a` and `s`.
Way = Callable[[Setting], Callable[[Any, Any], Any]]


def _sum_results(at: Setting) -> Callable[[Any, Any], Any]:
    return lambda a, s: at.engine.numpy.sum(at.engine.numpy.real(at.body(a, s)))


def _scan_rows(at: Setting) -> Callable[[Any, Any], Any]:
    """Scan over the rows of `a`, with `s` in the carry."""

    def step(carry: Any, row: Any) -> Any:
        return carry, at.body(row, carry)

    return lambda a, s: at.engine.lax.scan(step, s, a)[1]


def _pass_by_keyword(at: Setting) -> Callable[[Any, Any], Any]:
    function = at.engine.jit(lambda a, *, s: at.body(a, s))
    return lambda a, s: function(a, s=s)


def _compile_ahead(at: Setting) -> Callable[[Any, Any], Any]:
    compiled: list[Any] = []

    def call(a: Any, s: Any) -> Any:
        if not compiled:
            compiled.append(at.engine.jit(at.body).lower(a, s).compile())
        return compiled[0](a, s)

    return call


def _call_library(at: Setting) -> Callable[[Any, Any], Any]:
    """Call functions of the library that take Python numbers beside arrays, and are compiled whole."""
    jnp = at.engine.numpy
    return lambda a, s: jnp.clip(jnp.real(at.body(a, s)), 0.5, 3) + jnp.allclose(a, a, atol=1e-2, rtol=1e-2)


def _map_shards(at: Setting) -> Callable[[Any, Any], Any]:
    spec = at.engine.sharding.PartitionSpec
    mesh = at.mesh or at.engine.sharding.Mesh(np.array(at.engine.devices()), ("x",))
    return at.engine.shard_map(at.body, mesh=mesh, in_specs=(spec("x"), spec()), out_specs=spec("x"))


WAYS: dict[str, Way] = {
    "jit": lambda at: at.engine.jit(at.body),
    "donated": lambda at: at.engine.jit(at.body, donate_argnums=(0, 1)),
    "keyword": _pass_by_keyword,
    "static": lambda at: at.engine.jit(at.body, static_argnums=1),
    "ahead of time": _compile_ahead,
    "in_shardings": lambda at: at.engine.jit(at.body, in_shardings=(at.sharding, at.whole)),
    "out_shardings": lambda at: at.engine.jit(at.body, out_shardings=at.rows),
    "jit grad": lambda at: at.engine.jit(at.engine.grad(_sum_results(at))),
    "jit vmap": lambda at: at.engine.jit(at.engine.vmap(at.body, in_axes=(0, None))),
    "jit scan": lambda at: at.engine.jit(_scan_rows(at)),
    "pmap": lambda at: at.engine.pmap(at.body, in_axes=(0, None)),
    "jit shard_map": lambda at: at.engine.jit(_map_shards(at)),
    "eager": lambda at: at.body,
    "eager clip and allclose": _call_library,
    "eager grad": lambda at: at.engine.grad(_sum_results(at)),
    "eager vmap": lambda at: at.engine.vmap(at.body, in_axes=(0, None)),
    "eager scan": _scan_rows,
    "eager shard_map": _map_shards,
}
#: Ways in which the user's function runs at each call, as it does in jax, to find the same program again.
RUN_AT_EACH_CALL = ("eager shard_map",)
_GRADIENTS = ("jit grad", "eager grad")


def is_refused(cell: Cell) -> bool:
    """Return whether the cell has to raise, at each call: a static argument needs a hash, and arrays have none."""
    return cell.way == "static" and cell.kind not in _HASHABLE


_HASHABLE = ("bool", "int", "float", "complex", "None", "numpy bool_", *(f"numpy {name}" for name in _SCALARS))

# The table -----------------------------------------------------------------------------------------------------------


def list_cells() -> list[Cell]:
    """Return every cell of the table."""
    return list(itertools.starmap(Cell, itertools.product(KINDS, WAYS, PLACEMENTS, (False, True), (False, True))))


def list_covering_cells() -> list[Cell]:
    """Return each kind with each way, where the other axes rotate: any two values of two axes meet in some cell."""
    return [
        Cell(kind, way, PLACEMENTS[(i + j) % 4], bool((i + j // 2) % 2), bool((i // 2 + j) % 2))
        for i, kind in enumerate(KINDS)
        for j, way in enumerate(WAYS)
    ]


def compute_expected(cell: Cell, number: int) -> Any:
    """Return what NumPy says of a cell with its first or second value."""
    kind = KINDS[cell.kind]
    value = kind.make(_NumPyEngine, number) if kind.numbers is None else kind.numbers[number]
    a = A.astype("float64")
    if cell.way in _GRADIENTS:
        slope = kind.combine(a * 0 + 1, value) - kind.combine(a * 0, value)
        return np.real(np.broadcast_to(slope, a.shape))
    result = np.broadcast_to(kind.combine(a, value), a.shape)
    return np.clip(np.real(result), 0.5, 3) + 1 if WAYS[cell.way] is _call_library else result


class _NumPyEngine:
    """NumPy in the place of an engine, for the arrays of the kinds on a device."""

    class numpy:  # noqa: N801 -- the name of the module that it stands for
        @staticmethod
        def full(shape: tuple[int, ...], value: Any, dtype: str) -> Any:
            return np.full(shape, value, getattr(ml_dtypes, dtype, dtype))


@contextlib.contextmanager
def prepare_call(engine: Any, cell: Cell) -> Iterator[Callable[[int], Any]]:
    """Give the call of a cell: ``call(number)`` with its first or second value, new operands each time."""
    kind = KINDS[cell.kind]
    with _place(engine, cell, _bind_combine(engine, kind)) as at:
        function = WAYS[cell.way](at)

        def call(number: int) -> Any:
            value = kind.make(engine, number)
            return np.asarray(function(at.operand(), _map_leaves(at.argument, value)))

        yield call


def _map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    return list(map(functools.partial(_map_leaves, function), value)) if isinstance(value, list) else function(value)
