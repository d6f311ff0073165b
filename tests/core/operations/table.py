# ruff: noqa: E501 (a row is one line)
# fmt: off
"""One row or more for every operation: its parameters, what it is applied to, and what NumPy or SciPy say it gives.

A row is ``Row(operation, oracle, operand, ...)``. The operands are drawn from seeds that depend on the row alone. ``linear`` names
the sets of operands in which the operation is linear together, ``smooth=False`` marks places where there is no
derivative to compare with (ties, jumps) or none that is wanted, ``twice=False`` those where there is no second one,
``loops=False`` those that give something else for examples at once than one by one,
``dtypes`` what the row is computed in.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import scipy.linalg
import scipy.special

from xlascope.control.flow.cond_op import Cond
from xlascope.control.flow.reduce_op import Reduce, ReduceWindow
from xlascope.control.flow.scan_op import Scan
from xlascope.control.flow.while_op import While
from xlascope.control.programs.call import JitCall
from xlascope.control.special import beta, gamma
from xlascope.dtypes import is_differentiable
from xlascope.ir.avals import make_aval
from xlascope.ir.operation import Operation
from xlascope.operations import (
    arithmetic,
    barriers,
    bessel,
    bits,
    comparisons,
    complex_numbers,
    constants,
    conversion,
    convolution,
    cumulative,
    dot_product,
    dynamic_slicing,
    exponentials,
    extreme_positions,
    extremes,
    formula_operations,
    fourier,
    indexing,
    random_bits,
    random_generators,
    reductions,
    rounding,
    scaled_products,
    scattering,
    selection,
    shapes,
    slicing,
    sorting,
    special,
    splitting,
    tangent_arithmetic,
    trigonometry,
    windows,
)
from xlascope.operations.accuracy import AccuracyMode, Tolerance
from xlascope.operations.linalg import (
    cholesky,
    general_eigenvalues,
    hermitian_eigenvalues,
    householder,
    lu,
    qr,
    row_permutations,
    singular_values,
    triangular,
    tridiagonal,
)
from xlascope.trace.jaxpr_trace import stage

FLOAT, HALF, INTEGER, TRUTH = ("float32",), ("float32", "float16", "bfloat16"), ("int32",), ("bool",)
COMPLEX = ("float32", "complex64")
NUMBERS = ("float32", "float16", "bfloat16", "complex64", "int32", "uint8")
ORDERED = ("float32", "float16", "bfloat16", "int32", "uint8", "bool")
WORDS = ("int32", "uint8", "int8", "bool")

#: How far a result may be from the exact one, relative and absolute: XLA's fast float32 functions are off by a few units.
TOLERANCE = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 3e-6,
    "complex64": 3e-6,
    "float16": 3e-3,
    "bfloat16": 3e-2,
}


@dataclass(frozen=True)
class Operand:
    """An operand's shape and where its elements lie. ``dtype`` None: that of the row."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None
    fixed: Any = None

    def make(self, random: np.random.Generator, dtype: str) -> np.ndarray[Any, Any]:
        wanted = np.dtype(self.dtype or (ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype))
        if self.fixed is not None:
            return np.asarray(self.fixed).astype(wanted)
        if wanted.kind == "b":
            return random.integers(0, 2, self.shape).astype(bool)
        if wanted.kind in "iu":
            low = max(self.low, 0 if wanted.kind == "u" else -100)
            return random.integers(int(low), int(self.high) + 1, self.shape).astype(wanted)
        drawn = random.uniform(self.low, self.high, self.shape)
        if wanted.kind == "c":
            drawn = drawn + 0.5j * random.uniform(self.low, self.high, self.shape)
        return np.asarray(drawn).astype(wanted)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Operand:
    """Elements of the row's dtype between ``low`` and ``high``."""
    return Operand(shape, low, high)


def index(*shape: int, high: int, low: int = 0) -> Operand:
    """int32 indices from ``low`` to ``high``, both included."""
    return Operand(shape, low, high, "int32")


def truth(*shape: int) -> Operand:
    """Truth values."""
    return Operand(shape, dtype="bool")


def words(*shape: int) -> Operand:
    """uint32 bits."""
    return Operand(shape, 0, 2**32 - 1, "uint32")


def exactly(value: Any, dtype: str | None = None) -> Operand:
    """These elements."""
    return Operand(np.shape(value), dtype=dtype, fixed=value)


class Row:
    """An operation applied to operands, and the function that says what should come out."""

    def __init__(
        self,
        operation: Operation | Callable[[np.dtype[Any]], Operation],
        oracle: Callable[..., Any],
        *operands: Operand,
        dtypes: Sequence[str] = FLOAT,
        linear: Sequence[tuple[int, ...]] = (),
        smooth: bool = True,
        twice: bool = True,
        raw: bool = False,
        loops: bool = True,
        tolerance: float = 1.0,
        note: str = "",
    ) -> None:
        self._operation = operation
        self.oracle = oracle
        self.operands = operands
        self.dtypes = tuple(dtypes)
        self.linear = tuple(linear)
        self.smooth = smooth
        self.twice = twice
        self.raw = raw
        self.loops = loops
        self.tolerance = tolerance
        self.note = note
        self.id = ""

    @property
    def name(self) -> str:
        return self.operation(self.dtypes[0]).name

    def operation(self, dtype: str) -> Operation:
        """The operation, for rows whose parameters depend on the dtype."""
        if isinstance(self._operation, Operation):
            return self._operation
        return self._operation(np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype))

    def make(self, dtype: str, example: int = 0) -> list[np.ndarray[Any, Any]]:
        """The operands of an example."""
        random = np.random.default_rng([zlib.crc32(self.id.encode()), example])
        return [operand.make(random, dtype) for operand in self.operands]

    @property
    def single(self) -> str | None:
        """The dtype in which derivatives are tested, the first of single precision."""
        return next((dtype for dtype in self.dtypes if dtype in ("float32", "complex64")), None)

    @property
    def moving(self) -> bool:
        """Whether there is a derivative to test: in some operand the row is smooth and can be moved."""
        return self.smooth and self.single is not None and any(is_differentiable(x.dtype) for x in self.make(self.single))

    @property
    def moving_twice(self) -> bool:
        """Whether there is a second derivative to test: of results that all move."""
        return self.twice and self.moving and all(is_differentiable(aval.dtype) for aval in self._results())

    @property
    def mapped(self) -> bool:
        """Whether there is a batch of examples to test: operands to map over, and results as of a loop over them."""
        return bool(self.operands) and self.loops

    def _results(self) -> Sequence[Any]:
        return self.operation(self.single).abstract_eval([make_aval(x.shape, x.dtype) for x in self.make(self.single)])

    def expected(self, operands: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """What the oracle says, computed in double precision."""
        if not self.raw:
            operands = [x.astype(_WIDE.get(x.dtype.kind, x.dtype)) for x in operands]
        with np.errstate(all="ignore"):
            results = self.oracle(*operands)
        return [np.asarray(y) for y in (results if isinstance(results, (tuple, list)) else [results])]

    def __repr__(self) -> str:
        return self.id


_WIDE = {"f": np.float64, "V": np.float64, "c": np.complex128}


def unary(operation: Operation, oracle: Callable[..., Any], **options: Any) -> Iterator[Row]:
    """A function of one operand on a matrix, with the range given by ``low`` and ``high``, and on a scalar and nothing."""
    low, high = options.pop("low", -2.0), options.pop("high", 2.0)
    yield Row(operation, oracle, real(2, 3, low=low, high=high), **options)
    yield Row(operation, oracle, real(low=low, high=high), **{**options, "dtypes": options.get("dtypes", FLOAT)[:1]}, note="scalar")


def binary(
    operation: Operation, oracle: Callable[..., Any], left: tuple[float, float] = (-2, 2), right: Any = None, **options: Any
) -> Iterator[Row]:
    """A function of two operands, alike and stretched in every way; all dtypes for those that are alike."""
    right = left if right is None else right
    for number, (x, y) in enumerate((((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3)), ((2, 1), (1, 3)), ((), ()), ((0, 3), (0, 3)))):
        row = options if number == 0 else {**options, "dtypes": options.get("dtypes", FLOAT)[:1]}
        operands = real(*x, low=left[0], high=left[1]), real(*y, low=right[0], high=right[1])
        yield Row(operation, oracle, *operands, **row, note=f"{_sizes(x)}·{_sizes(y)}")


def _sizes(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def apart(*shape: int) -> Operand:
    """Elements that are all different, far apart compared with the steps of difference quotients, in mixed order."""
    count = int(np.prod(shape))
    order = np.random.default_rng(7).permutation(count)
    return exactly((order.reshape(shape) - count / 2) / 2)


NAN_AND_INFINITY = exactly([[1.0, np.nan, np.inf], [-np.inf, 2.0, np.nan], [np.inf, -np.inf, 0.0]])
OTHERS = exactly([[np.nan, 1.0, 1.0], [1.0, np.inf, np.nan], [np.inf, -np.inf, -0.0]])
WITH_ZEROS = exactly([[0.0, 2.0, 3.0], [0.0, 0.0, 4.0], [1.5, -2.0, 0.5]])


def without_cancellation(x: Any, y: Any, _: float) -> Any:
    """A formula whose terms cancel, which it may not notice."""
    return x * x - y * y


def moved_gammainc(a: Any, x: Any) -> Any:
    """The derivative of the incomplete gamma function in a, by differences of high order."""
    h = a * 1e-3
    return sum(
        weight * (scipy.special.gammainc(a + k * h, x) - scipy.special.gammainc(a - k * h, x)) / h
        for k, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    )


# Oracles ------------------------------------------------------------------------------------------------------------


def threefry(key0: Any, key1: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    """Threefry-2x32, 20 rounds, after the paper."""
    key0, key1, x0, x1 = (np.array(z) for z in np.broadcast_arrays(key0, key1, x0, x1))
    keys = [key0, key1, key0 ^ key1 ^ np.uint32(0x1BD11BDA)]
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for group in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(turn) | x1 >> np.uint32(32 - turn)) ^ x0
        x0, x1 = x0 + keys[(group + 1) % 3], x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def philox(shape: tuple[int, ...], dtype: str) -> Callable[[Any], tuple[Any, Any]]:
    """Philox-4x32, 10 rounds, after the paper: the counter is the third and fourth word of the key before its first two."""

    def numbers(key: Any) -> tuple[Any, Any]:
        low, high, *start = map(int, key)
        size, mask = int(np.prod(shape)) * max(1, np.dtype(dtype).itemsize // 4), 2**32 - 1
        blocks = -(-size // 4)
        drawn: list[int] = []
        for block in range(blocks):
            first = start[0] + (start[1] << 32) + block
            c, k = [first & mask, first >> 32 & mask, low, high], [low, high]
            for _ in range(10):
                x, y = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
                c = [y >> 32 ^ c[1] ^ k[0], y & mask, x >> 32 ^ c[3] ^ k[1], x & mask]
                k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
            drawn += c
        after = start[0] + (start[1] << 32) + blocks
        bits = np.array(drawn[:size], np.uint32).astype(dtype).reshape(shape)
        return np.array([low, high, after & mask, after >> 32 & mask], np.uint32), bits

    return numbers


def padded(config: Sequence[tuple[int, int, int]]) -> Callable[[Any, Any], Any]:
    """Padding with (low, high, interior) for each axis, negative ones cropping."""

    def pad(x: Any, value: Any) -> Any:
        for axis, (low, high, interior) in enumerate(config):
            x = np.moveaxis(x, axis, 0)
            size = len(x)
            spread = np.full((size + max(size - 1, 0) * interior, *x.shape[1:]), value)
            spread[:: interior + 1] = x
            around = [(max(low, 0), max(high, 0))] + [(0, 0)] * (x.ndim - 1)
            x = np.pad(spread, around, constant_values=value)
            x = np.moveaxis(x[max(-low, 0) : len(x) - max(-high, 0)], 0, axis)
        return x

    return pad


def block(sizes: Sequence[int]) -> Callable[..., Any]:
    """The block at clamped starts."""

    def take(x: Any, *starts: Any) -> Any:
        return x[_block(x.shape, sizes, starts)]

    return take


def replace_block(x: Any, update: Any, *starts: Any) -> Any:
    """The operand with a block put at clamped starts."""
    x = x.copy()
    x[_block(x.shape, update.shape, starts)] = update
    return x


def _block(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Any]) -> tuple[slice, ...]:
    begins = [int(np.clip(at, 0, have - size)) for at, have, size in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(at, at + size) for at, size in zip(begins, sizes, strict=True))


def rows_at(x: Any, at: Any) -> Any:
    """Rows by number, the numbers clamped."""
    return x[np.clip(at[..., 0], 0, len(x) - 1)]


def along(x: Any, at: Any) -> Any:
    """One element of each row (NumPy's take_along_axis)."""
    return np.take_along_axis(x, np.clip(at[..., 0], 0, x.shape[1] - 1), axis=1)


def corners(x: Any, at: Any) -> Any:
    """2x2 windows at clamped corners."""
    return np.stack([block((2, 2))(x, *corner) for corner in at])


def rows_or(fill: Any) -> Callable[[Any, Any], Any]:
    """Rows by number, those outside filled."""

    def take(x: Any, at: Any) -> Any:
        nothing = np.nan if x.dtype.kind in "fc" else True if x.dtype.kind == "b" else np.iinfo(x.dtype).max if x.dtype.kind == "u" else np.iinfo(x.dtype).min
        value = np.asarray(nothing if fill is None else fill).astype(x.dtype)
        return np.where((at < 0) | (at >= len(x)), value, rows_at(x, at))

    return take


def largest(k: int, axis: int) -> Callable[[Any], Any]:
    """The k largest along an axis and where they are, the first of equals first."""

    def find(x: Any) -> Any:
        order = np.take(np.argsort(-x, axis, kind="stable"), np.arange(k), axis)
        return np.take_along_axis(x, order, axis), order

    return find


def leading_zeros(x: Any) -> Any:
    """The zeros in front of the binary digits."""
    width = 8 * x.itemsize
    return np.array([width - int(v).bit_length() for v in x.view(f"u{x.itemsize}")])


def upper_half(x: Any, y: Any) -> Any:
    """The upper half of products, in Python's integers."""
    return np.array([int(p) * int(q) >> 8 * x.itemsize for p, q in zip(x, y, strict=True)])


def put_rows(mode: str, add: Any) -> Callable[[Any, Any, Any], Any]:
    """Rows put at or merged into numbered rows (``add``: False, True, or how), outside ones dropped or clamped."""
    merge = add if callable(add) else np.add if add else lambda old, new: new

    def put(x: Any, at: Any, rows: Any) -> Any:
        x = x.copy()
        for number, row in zip(at[:, 0], rows, strict=True):
            if mode == "clip":
                number = np.clip(number, 0, len(x) - 1)
            if 0 <= number < len(x):
                x[number] = merge(x[number], row)
        return x

    return put


def put_along(add: Any) -> Callable[[Any, Any, Any], Any]:
    """One element of each row put or merged."""
    merge = add if callable(add) else np.add if add else lambda old, new: new

    def put(x: Any, at: Any, new: Any) -> Any:
        x = x.copy()
        for row in range(len(x)):
            for column, value in zip(at[row, :, 0], new[row], strict=True):
                x[row, column] = merge(x[row, column], value)
        return x

    return put


def slide(x: Any, kernel: tuple[int, ...], strides: Any, pads: Any, holes: Any, dilation: Any, fill: Any = 0) -> Any:
    """The windows over the last axes of x: (axes in front, places, kernel)."""
    lead = x.ndim - len(kernel)
    config = [(0, 0, 0)] * lead + [(low, high, d - 1) for (low, high), d in zip(pads, holes, strict=True)]
    x = padded(config)(x, np.asarray(fill, x.dtype))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(lead, x.ndim)))
    steps = (slice(None),) * lead + tuple(slice(None, None, s) for s in strides) + tuple(slice(None, None, d) for d in dilation)
    return view[steps]


def conv(strides: Any, pads: Any, holes: Any, dilation: Any, numbers: Any = None, features: int = 1, batches: int = 1) -> tuple[Operation, Any]:
    """A convolution, and what it is by sums over windows, group by group."""
    rank = len(strides)
    numbers = numbers or (tuple(range(rank + 2)),) * 3

    def oracle(x: Any, w: Any) -> Any:
        x, w = np.transpose(x, numbers[0]), np.transpose(w, numbers[1])
        view = slide(x, w.shape[2:], strides, pads, holes, dilation)
        parts = []
        for group, kernels in enumerate(np.split(w, features * batches)):
            part = np.split(np.split(view, batches)[group % batches], features, 1)[group % features]
            over = tuple(range(2 + rank, 2 + 2 * rank))
            parts.append(np.moveaxis(np.tensordot(part, kernels, ((1, *over), (1, *range(2, 2 + rank)))), -1, 1))
        return np.transpose(np.concatenate(parts, 1), np.argsort(numbers[2]))

    axes = convolution.ConvDimensionNumbers(*numbers)
    return convolution.ConvGeneralDilated(strides, pads, holes, dilation, axes, features, batches, None, None), oracle


def sums_of_windows(kernel: Any, strides: Any, pads: Any, holes: Any, dilation: Any) -> Callable[[Any], Any]:
    return lambda x: slide(x, kernel, strides, pads, holes, dilation).sum(tuple(range(-len(kernel), 0))) if kernel else x


def extremes_of_windows(reduce: Any, fill: float, kernel: Any, strides: Any, pads: Any, holes: Any, dilation: Any) -> Callable[[Any], Any]:
    return lambda x, *start: reduce(slide(x, kernel, strides, pads, holes, dilation, fill), tuple(range(-len(kernel), 0)))


def _chosen(x: Any, kernel: Any, strides: Any, pads: Any) -> Any:
    """For each window the number of the element that is largest, -1 for padding."""
    ones = (1,) * len(kernel)
    view = slide(x, kernel, strides, pads, ones, ones, -np.inf)
    numbers = slide(np.arange(x.size, dtype=float).reshape(x.shape), kernel, strides, pads, ones, ones, -1)
    places = view.reshape(*view.shape[: x.ndim], -1).argmax(-1)
    return np.take_along_axis(numbers.reshape(*view.shape[: x.ndim], -1), places[..., None], -1)[..., 0].astype(int)


def gathered(*arguments: Any) -> Callable[[Any, Any], Any]:
    """What stands where windows have their largest elements."""
    return lambda t, x: t.ravel()[_chosen(x, *arguments)]


def scattered(*arguments: Any) -> Callable[[Any, Any], Any]:
    """An element for each window, added where that has its largest element."""

    def add(source: Any, x: Any) -> Any:
        made = np.zeros(x.size, source.dtype)
        np.add.at(made, _chosen(x, *arguments).ravel(), source.ravel())
        return made.reshape(x.shape)

    return add


def dot(contract: tuple[Any, Any], batch: tuple[Any, Any] = ((), ())) -> tuple[Operation, Callable[[Any, Any], Any]]:
    """A dot_general and what NumPy's einsum gives for it."""

    def einsum(x: Any, y: Any) -> Any:
        left, right = list("abcde"[: x.ndim]), list("vwxyz"[: y.ndim])
        for p, q in zip((*contract[0], *batch[0]), (*contract[1], *batch[1]), strict=True):
            right[q] = left[p]
        shared = [left[p] for p in batch[0]]
        free = [z for k, z in enumerate(left) if k not in contract[0] and k not in batch[0]]
        free += [z for k, z in enumerate(right) if k not in contract[1] and k not in batch[1]]
        return np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(shared + free)}", x, y)

    return dot_product.DotGeneral((contract, batch), None, None), einsum


def _windows_of(body: Any, kernel: Any, strides: Any, pads: Any, holes: Any, dilation: Any) -> Operation:
    return ReduceWindow(
        jaxpr=body, window_dimensions=kernel, window_strides=strides, padding=pads, base_dilation=holes, window_dilation=dilation
    )


def _call(body: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[np.dtype[Any]], Operation]:
    def operation(dtype: np.dtype[Any]) -> Operation:
        return JitCall(stage(body, [make_aval(shape, dtype) for shape in shapes], "body"))

    return operation


def _program(dtype: np.dtype[Any], body: Callable[..., Any], *shapes: Any) -> Any:
    """A program for operands of those shapes: of the row's dtype, or int32 where a shape is ``"i"``."""
    return stage(body, [make_aval((), np.dtype("int32")) if x == "i" else make_aval(x, dtype) for x in shapes], "body")


def _cond(*branches: Callable[..., Any], shapes: Sequence[Any]) -> Callable[[np.dtype[Any]], Operation]:
    return lambda dtype: Cond(tuple(_program(dtype, branch, *shapes) for branch in branches))


def _while(
    condition: Callable[..., Any], body: Callable[..., Any], cond_consts: Sequence[Any], consts: Sequence[Any], carry: Sequence[Any]
) -> Callable[[np.dtype[Any]], Operation]:
    def of(dtype: np.dtype[Any]) -> Operation:
        body_program, cond_program = _program(dtype, body, *consts, *carry), _program(dtype, condition, *cond_consts, *carry)
        return While(body_program, len(consts), cond_program, len(cond_consts))

    return of


def _scan(
    body: Callable[..., Any], consts: Sequence[Any], carry: Sequence[Any], xs: Sequence[Any], length: int, reverse: bool = False, unroll: int = 1
) -> Callable[[np.dtype[Any]], Operation]:
    def of(dtype: np.dtype[Any]) -> Operation:
        return Scan(_program(dtype, body, *consts, *carry, *xs), length, len(carry), len(consts), reverse, unroll)

    return of


def looped(body: Callable[..., Any], consts: int, carry: int, length: int, reverse: bool = False) -> Callable[..., Any]:
    """A scan as a Python loop: ``body(*consts, *carry, *slices)`` gives the carry and what is stacked."""

    def loop(*operands: Any) -> list[Any]:
        known, values, xs = operands[:consts], list(operands[consts : consts + carry]), operands[consts + carry :]
        stacks = []
        for step in reversed(range(length)) if reverse else range(length):
            values, ys = (lambda results: (results[:carry], results[carry:]))(body(*known, *values, *(x[step] for x in xs)))
            stacks.append(ys)
        ordered = stacks[::-1] if reverse else stacks
        return [*values, *(np.stack(ys) for ys in zip(*ordered, strict=True))]

    return loop


def first_extreme(find: Callable[..., Any], axis: int) -> Callable[[Any], Any]:
    return lambda x: find(x, axis=axis)


GATHER_ROWS = indexing.GatherDimensionNumbers((1,), (0,), (0,))
GATHER_ALONG = indexing.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
GATHER_WINDOWS = indexing.GatherDimensionNumbers((1, 2), (), (0, 1))
PUT_ROWS = indexing.ScatterDimensionNumbers((1,), (0,), (0,))
PUT_ALONG = indexing.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
INT32 = np.dtype("int32")
BOTH, EITHER, EITHER_END = (0, 1), ((0,), (1,)), ((0,), (2,))
DIFFERENT_ROWS = exactly([[2], [0]], "int32")
OUTSIDE = exactly([[9], [-4], [1]], "int32")


def _rows() -> Iterator[Row]:
    # shapes
    yield Row(tangent_arithmetic.AddAny(), np.add, real(2, 3), real(2, 3), dtypes=COMPLEX, linear=(BOTH, *EITHER))
    yield Row(tangent_arithmetic.AddAny(), np.add, real(), real(), linear=(BOTH,), note="scalar")
    for shape, to, dims in (((3,), (2, 3), (1,)), ((), (2, 3), ()), ((2, 1), (2, 3), (0, 1)), ((2,), (2, 3, 1), (0,)), ((0,), (2, 0), (1,))):
        yield Row(
            shapes.BroadcastInDim(to, dims),
            lambda x, to=to, dims=dims: np.broadcast_to(x.reshape([x.shape[dims.index(d)] if d in dims else 1 for d in range(len(to))]), to),
            real(*shape), linear=((0,),), dtypes=NUMBERS if shape == (3,) else FLOAT, note=f"{_sizes(shape)}→{_sizes(to)}",
        )
    for shape, to in (((2, 3), (3, 2)), ((6,), (1, 2, 3)), ((1,), ()), ((0, 3), (3, 0))):
        yield Row(shapes.Reshape(to), lambda x, to=to: x.reshape(to), real(*shape), linear=((0,),), note=f"{_sizes(shape)}→{_sizes(to)}")
    yield Row(shapes.Squeeze((0, 2)), np.squeeze, real(1, 3, 1), linear=((0,),))
    yield Row(shapes.Squeeze((0,)), np.squeeze, real(1), linear=((0,),), note="to scalar")
    yield Row(shapes.Transpose((2, 0, 1)), lambda x: x.transpose(2, 0, 1), real(2, 3, 4), linear=((0,),), dtypes=NUMBERS)
    yield Row(shapes.ReduceSum((1,)), lambda x: x.sum(1), real(2, 3), linear=((0,),), dtypes=("float32", "complex64", "int32"))
    yield Row(shapes.ReduceSum((0, 2)), lambda x: x.sum((0, 2)), real(2, 3, 2), linear=((0,),), note="two axes")
    yield Row(shapes.ReduceSum((0,)), lambda x: x.sum(0), real(0, 2), linear=((0,),), note="nothing")
    yield Row(shapes.ReduceSum((0, 1)), np.sum, real(2, 3), linear=((0,),), dtypes=("float16", "bfloat16"), smooth=False, note="halves")
    yield Row(slicing.Concatenate(1), lambda *x: np.concatenate(x, 1), real(2, 1), real(2, 3), dtypes=NUMBERS, linear=(BOTH, *EITHER))
    yield Row(slicing.Concatenate(0), lambda *x: np.concatenate(x), real(0, 2), real(1, 2), real(2, 2), linear=((0, 1, 2), (2,)), note="nothing")
    for start, stop, step in (((0, 1), (2, 3), None), ((1, 0), (4, 3), (2, 2)), ((2, 1), (2, 3), None), ((0, 0), (4, 3), (3, 3))):
        yield Row(
            slicing.Slice(start, stop, step),
            _slicer(start, stop, step or (1, 1)),
            real(4, 3), linear=((0,),), note=f"{start}:{stop}:{step}",
        )
    yield Row(splitting.Split((1, 2, 0), 1), lambda x: np.split(x, [1, 3], 1), real(2, 3), linear=((0,),), dtypes=NUMBERS)
    yield Row(splitting.Split((2,), 0), lambda x: [x], real(2, 3), linear=((0,),), note="one part")
    for config in (((1, 2, 0), (0, 1, 0)), ((0, 0, 2), (1, 0, 1)), ((-1, 2, 0), (0, -1, 0)), ((-1, -1, 1), (2, -2, 2)), ((0, 0, 0), (3, -3, 0))):
        yield Row(slicing.Pad(config), padded(config), real(3, 2), real(), linear=(BOTH, *EITHER), note=str(config))
    yield Row(slicing.Pad(((1, 1, 1),)), padded(((1, 1, 1),)), real(0), real(), linear=(BOTH,), note="nothing")
    yield Row(slicing.Pad(()), lambda x, v: x, real(), real(), linear=((0,),), note="scalar")
    yield Row(slicing.Rev((0, 2)), lambda x: x[::-1, :, ::-1], real(2, 3, 2), linear=((0,),), dtypes=NUMBERS)
    yield Row(lambda dtype: constants.Constant(np.arange(6).reshape(2, 3).astype(dtype)), lambda: np.arange(6).reshape(2, 3), dtypes=("int32", "float32"))
    yield Row(lambda dtype: constants.Constant(np.array([True, False])), lambda: np.array([True, False]), dtypes=("bool",))
    yield Row(lambda dtype: shapes.Iota(dtype, (2, 3), 1), lambda: np.tile(np.arange(3), (2, 1)), dtypes=("int32", "float32", "bfloat16"))

    # elementwise
    yield from unary(tangent_arithmetic.Neg(), np.negative, dtypes=("float32", "float16", "bfloat16", "complex64", "int32"), linear=((0,),))
    yield from unary(exponentials.Exp(), np.exp, dtypes=(*HALF, "complex64"))
    yield from unary(exponentials.Exp2(), np.exp2)
    yield from unary(exponentials.Expm1(), np.expm1, dtypes=COMPLEX)
    for each, oracle in ((exponentials.Exp2, np.exp2), (trigonometry.Sin, np.sin), (exponentials.Logistic, scipy.special.expit)):
        yield Row(each(Tolerance(rtol=1e-2, ulps=3)), oracle, real(2, 3), note="tolerance")
    yield Row(trigonometry.Cos(AccuracyMode.HIGHEST), np.cos, real(2, 3), dtypes=COMPLEX, note="highest")
    yield from unary(exponentials.Log(), np.log, low=0.1, dtypes=(*HALF, "complex64"))
    yield from unary(exponentials.Log1p(), np.log1p, low=-0.5, dtypes=COMPLEX)
    yield from unary(trigonometry.Sin(), np.sin, dtypes=(*HALF, "complex64"))
    yield from unary(trigonometry.Cos(), np.cos, dtypes=COMPLEX)
    yield from unary(trigonometry.Tan(), np.tan, low=-1, high=1, dtypes=COMPLEX)
    yield from unary(trigonometry.Tanh(), np.tanh, dtypes=(*HALF, "complex64"))
    yield from unary(exponentials.Logistic(), scipy.special.expit, dtypes=HALF)
    yield from unary(exponentials.Sqrt(), np.sqrt, low=0.1, dtypes=COMPLEX)
    yield from unary(exponentials.Rsqrt(), lambda x: 1 / np.sqrt(x), low=0.1, dtypes=COMPLEX)
    yield from unary(exponentials.Cbrt(), np.cbrt, low=0.1)
    yield Row(exponentials.Cbrt(), np.cbrt, real(2, 3, high=-0.1), note="negative")
    yield from unary(arithmetic.Square(), np.square, dtypes=COMPLEX + INTEGER)
    yield from unary(arithmetic.Abs(), np.abs, low=0.2, dtypes=(*HALF, "int32"))
    yield Row(arithmetic.Abs(), np.abs, real(2, 3, high=-0.1), note="negative")
    yield Row(arithmetic.Abs(), np.abs, real(2, 3), dtypes=("complex64",), note="complex")
    yield Row(arithmetic.Abs(), np.abs, exactly([0, 1j, 3 - 4j]), dtypes=("complex64",), smooth=False, note="complex zero")
    yield Row(arithmetic.Sign(), lambda x: np.where(x == 0, 0, x / np.abs(x)), exactly([0, 1j, 3 - 4j, -2]), dtypes=("complex64",), smooth=False, note="complex")
    for power in (-3, -2, -1, 0, 1, 2, 3, 7):
        yield Row(arithmetic.IntegerPow(power), lambda x, y=power: x**y, real(2, 3, low=0.5), dtypes=COMPLEX, note=str(power))
    yield Row(arithmetic.IntegerPow(3), lambda x: x**3, real(2, 3), dtypes=INTEGER, note="integers")
    yield Row(arithmetic.IntegerPow(2), lambda x: x**2, exactly([0.0, -1.0, 2.0]), note="at zero")
    yield from unary(special.Erf(), scipy.special.erf, dtypes=HALF)
    yield from unary(special.ErfInv(), scipy.special.erfinv, low=-0.9, high=0.9, tolerance=4)
    yield from unary(trigonometry.Asin(), np.arcsin, low=-0.9, high=0.9)
    yield from unary(trigonometry.Acos(), np.arccos, low=-0.9, high=0.9)
    yield from unary(trigonometry.Atan(), np.arctan)
    yield from unary(trigonometry.Sinh(), np.sinh)
    yield from unary(trigonometry.Cosh(), np.cosh)
    yield from unary(trigonometry.Asinh(), np.arcsinh)
    yield from unary(trigonometry.Acosh(), np.arccosh, low=1.2, high=3)
    yield from unary(trigonometry.Atanh(), np.arctanh, low=-0.9, high=0.9)
    yield from unary(arithmetic.Sign(), np.sign, low=0.1, dtypes=(*HALF, "int32"))
    yield Row(arithmetic.Sign(), np.sign, exactly([0, 1, 200]), dtypes=("uint8",), smooth=False, note="unsigned")
    yield Row(arithmetic.Sign(), np.sign, exactly([-2.0, -0.0, 0.0, 3.0, np.nan]), smooth=False, note="zero and nan")
    yield from unary(rounding.Floor(), np.floor, low=0.1, high=0.9, dtypes=HALF)
    yield from unary(rounding.Ceil(), np.ceil, low=0.1, high=0.9, dtypes=HALF)
    yield Row(rounding.Floor(), np.floor, exactly([-1.5, -0.5, 0.5, 2.0]), smooth=False, note="negative")
    yield Row(rounding.Ceil(), np.ceil, exactly([-1.5, -0.5, 0.5, 2.0]), smooth=False, note="negative")
    yield Row(rounding.Round(1), np.rint, exactly([-1.5, -0.5, 0.5, 1.5, 2.5]), smooth=False, note="halves to even")
    yield Row(rounding.Round(0), lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), exactly([-1.5, -0.5, 0.5, 1.5, 2.5]), smooth=False, note="halves away")
    yield Row(rounding.Round(1), np.rint, real(2, 3, low=0.1, high=0.4))
    yield Row(rounding.IsFinite(), np.isfinite, NAN_AND_INFINITY, smooth=False, dtypes=HALF)
    yield Row(bits.Not(), np.invert, real(2, 3, high=100), dtypes=WORDS)
    yield Row(barriers.StopGradient(), lambda x: x, real(2, 3), dtypes=NUMBERS, smooth=False)
    for old, new in itertools.product(("float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64"), repeat=2):
        if old != new:
            to = np.dtype(ml_dtypes.bfloat16 if new == "bfloat16" else new)
            yield Row(conversion.ConvertElementType(to, False), _converted(to), real(2, 3, low=0), dtypes=(old,), smooth=False, note=f"{old}→{new}")
    yield Row(lambda dtype: conversion.ConvertElementType(dtype, False), lambda x: x, real(2, 3), linear=((0,),), note="same width")
    yield Row(conversion.ConvertElementType(np.dtype("float16"), False), lambda x: x, real(2, 3), linear=((0,),), smooth=False, note="narrower")
    yield Row(conversion.ConvertElementType(np.dtype("complex64"), False), lambda x: x, real(2, 3), linear=((0,),), smooth=False, note="to complex")
    yield Row(conversion.ConvertElementType(np.dtype("float32"), False), np.real, real(2, 3), linear=((0,),), dtypes=("complex64",), smooth=False, note="real part")
    yield Row(conversion.ConvertElementType(INT32, False), np.trunc, exactly([-1.7, -0.2, 0.5, 2.9]), smooth=False, note="towards zero")
    yield Row(conversion.BitcastConvertType(np.dtype("int32")), lambda x: x.view("int32"), real(2, 3), raw=True, smooth=False)
    yield Row(conversion.BitcastConvertType(np.dtype("uint16")), lambda x: x.view("uint16").reshape(2, 3, 2), real(2, 3), raw=True, smooth=False, note="to narrower")
    yield Row(conversion.BitcastConvertType(np.dtype("int32")), lambda x: x.view("int32")[..., 0], real(3, 2), dtypes=("float16",), raw=True, smooth=False, note="to wider")
    yield Row(conversion.BitcastConvertType(np.dtype("uint16")), lambda x: x.view("uint16"), real(2, 3), dtypes=("float16", "bfloat16"), raw=True, smooth=False)

    # complex numbers
    for part, oracle in ((complex_numbers.Real, np.real), (complex_numbers.Imag, np.imag)):
        yield Row(part(), oracle, real(2, 3), dtypes=("complex64",), linear=((0,),))
        yield Row(part(), oracle, real(), dtypes=("complex64",), linear=((0,),), note="scalar")
    yield Row(complex_numbers.Conj(np.dtype("complex64")), np.conj, real(2, 3), dtypes=("complex64",), linear=((0,),))
    yield Row(complex_numbers.Conj(np.dtype("float32")), lambda x: x + 0j, real(2, 3), linear=((0,),), note="real")
    yield from binary(complex_numbers.Complex(), lambda x, y: x + 1j * y, linear=(BOTH, *EITHER))

    # arithmetic
    yield from binary(arithmetic.Add(), np.add, dtypes=NUMBERS, linear=(BOTH, *EITHER))
    yield from binary(arithmetic.Sub(), np.subtract, (1, 2), (-2, 1), dtypes=(*HALF, "complex64", "int32"), linear=(BOTH, *EITHER))
    yield from binary(arithmetic.Mul(), np.multiply, dtypes=NUMBERS, linear=EITHER)
    yield from binary(arithmetic.Div(), np.divide, (-2, 2), (0.5, 2), dtypes=(*HALF, "complex64"), linear=((0,),))
    yield Row(arithmetic.Div(), lambda x, y: np.trunc(x / y), exactly([7, -7, 7, -7]), exactly([2, 2, -2, -2]), dtypes=INTEGER, note="towards zero")
    yield from binary(arithmetic.Rem(), np.fmod, (2.2, 2.9), (0.6, 0.7), dtypes=FLOAT)
    yield Row(arithmetic.Rem(), np.fmod, exactly([5.3, -5.3, 5.3, -5.3]), exactly([2.0, 2.0, -2.0, -2.0]), note="signs")
    yield Row(arithmetic.Rem(), np.fmod, exactly([5, -5, 5, -5]), exactly([3, 3, -3, -3]), dtypes=INTEGER, note="integers")
    yield from binary(exponentials.Pow(), np.power, (0.5, 2), (-2, 2), dtypes=COMPLEX)
    yield Row(exponentials.Pow(), np.power, exactly([-2.0, -1.5, 0.0, 0.0, 2.0]), exactly([2.0, 3.0, 0.0, 2.0, 0.0]), smooth=False, note="whole powers")
    yield from binary(trigonometry.Atan2(), np.arctan2, (0.5, 2), (-2, 2))
    yield Row(trigonometry.Atan2(), np.arctan2, exactly([1.0, -1.0, 0.0, -0.0]), exactly([-1.0, -1.0, -1.0, -1.0]), smooth=False, note="quadrants")
    yield from binary(extremes.Max(), np.maximum, (-2, 0), (0.1, 2), dtypes=ORDERED)
    yield from binary(extremes.Min(), np.minimum, (-2, 0), (0.1, 2), dtypes=ORDERED)
    yield Row(extremes.Max(), np.maximum, NAN_AND_INFINITY, OTHERS, smooth=False, note="nan and infinity")
    yield Row(extremes.Min(), np.minimum, NAN_AND_INFINITY, OTHERS, smooth=False, note="nan and infinity")
    for comparison, oracle in ((comparisons.Eq, np.equal), (comparisons.Ne, np.not_equal), (comparisons.Lt, np.less), (comparisons.Le, np.less_equal), (comparisons.Gt, np.greater), (comparisons.Ge, np.greater_equal)):
        yield from binary(comparison(), oracle, dtypes=ORDERED, smooth=False)
        yield Row(comparison(), oracle, NAN_AND_INFINITY, OTHERS, smooth=False, note="nan and infinity")
        yield Row(comparison(), oracle, exactly([1, 2, 250]), exactly([1, 250, 2]), dtypes=("uint8",), note="unsigned")
    for equality, oracle in ((comparisons.Eq, np.equal), (comparisons.Ne, np.not_equal)):
        yield Row(equality(), oracle, exactly([1 + 1j, 1]), exactly([1 + 1j, 1 + 1j]), dtypes=("complex64",), smooth=False, note="complex")
    yield from binary(bits.And(), np.bitwise_and, (0, 100), dtypes=WORDS)
    yield from binary(bits.Or(), np.bitwise_or, (0, 100), dtypes=WORDS)
    yield from binary(bits.Xor(), np.bitwise_xor, (0, 100), dtypes=WORDS)
    yield from binary(bits.ShiftLeft(), np.left_shift, (0, 5), (0, 4), dtypes=("int32", "uint8"))
    yield from binary(bits.ShiftRightArithmetic(), np.right_shift, (-9, 99), (0, 4), dtypes=INTEGER)
    yield from binary(bits.ShiftRightLogical(), np.right_shift, (0, 99), (0, 4), dtypes=("int32", "uint8"))
    yield Row(bits.ShiftRightLogical(), lambda x, y: (x.view("uint32") >> y.view("uint32")).view("int32"), exactly([-8, -1]), exactly([1, 31]), dtypes=INTEGER, note="negative")
    for which, first, second in (((2, 3),) * 3, ((), (2, 3), (2, 3)), ((2, 3), (), (2, 3)), ((2, 3), (), ()), ((), (), ()), ((2, 3), (2, 1), (1, 3))):
        alike = which == first == second
        yield Row(
            selection.SelectN(), lambda w, x, y: np.where(w, y, x), truth(*which), real(*first), real(*second),
            linear=((1, 2), (1,), (2,)), dtypes=NUMBERS + TRUTH if alike else FLOAT, note=f"{_sizes(which)}·{_sizes(first)}·{_sizes(second)}",
        )
    for shape in ((2, 3), ()):
        yield Row(
            selection.SelectN(), lambda w, *cases: np.choose(w, cases, mode="clip"), index(*shape, low=-1, high=3), real(2, 3), real(2, 3), real(2, 3),
            linear=((1, 2, 3), (1,), (2,), (3,)), note=f"three cases, {_sizes(shape)}",
        )
    yield Row(selection.SelectN(), lambda w, x, y: np.choose(w, (x, y)), index(2, 3, high=1), real(2, 3), real(), dtypes=NUMBERS, linear=((1, 2),), note="by number")
    yield Row(selection.SelectN(), lambda w, x: x, truth(2), real(2), linear=((1,),), note="one case")
    for case, (low, high) in enumerate([(-2, 0), (1, 1), (2, 4)]):  # the indices that choose the case
        yield Row(selection.MaskTangent(case, 3), lambda w, x: np.broadcast_to(x, w.shape), index(2, 3, low=low, high=high), real(1, 3), linear=((1,),), note=f"{case}")
    yield Row(extremes.Clamp(), lambda p, x, q: np.clip(x, p, q), exactly(-0.7), apart(2, 3), exactly(0.7), note="scalars")
    yield Row(extremes.Clamp(), lambda p, x, q: np.clip(x, p, q), real(2, 3, low=-1, high=-0.6), apart(2, 3), real(2, 3, low=0.6, high=0.9))
    yield Row(extremes.Clamp(), lambda p, x, q: np.clip(x, p, q), exactly(3), real(5, high=9), exactly(6), dtypes=INTEGER, note="integers")

    # reductions
    for reduction, oracle in ((reductions.ReduceMax, np.max), (reductions.ReduceMin, np.min)):
        yield Row(reduction((1,)), lambda x, f=oracle: f(x, 1), apart(2, 3), dtypes=(*HALF, "int32"))
        yield Row(reduction((0, 2)), lambda x, f=oracle: f(x, (0, 2)), apart(2, 2, 3), note="two axes")
        yield Row(reduction((0,)), oracle, apart(4), note="to scalar")
        yield Row(reduction((1,)), lambda x, f=oracle: f(x, 1), NAN_AND_INFINITY, smooth=False, note="nan and infinity")
        yield Row(reduction((0,)), lambda x, f=oracle: f(x, 0), real(3, 2), dtypes=("uint8", "bool"), note="unsigned and truth")
    yield Row(reductions.ReduceMax((0,)), lambda x: np.full(2, -np.inf), real(0, 2), smooth=False, note="nothing")
    yield Row(reductions.ReduceMin((0,)), lambda x: np.full(2, np.inf), real(0, 2), smooth=False, note="nothing")
    yield Row(reductions.ReduceProd((1,)), lambda x: x.prod(1), real(2, 3), dtypes=("float32", "complex64", "int32"))
    yield Row(reductions.ReduceProd((0, 2)), lambda x: x.prod((0, 2)), real(2, 2, 2), note="two axes")
    yield Row(reductions.ReduceProd((1,)), lambda x: x.prod(1), WITH_ZEROS, note="zeros")
    yield Row(reductions.ReduceProd((0, 1)), np.prod, WITH_ZEROS, note="several zeros")
    yield Row(reductions.ReduceProd((0,)), lambda x: x.prod(0), real(0, 2), note="nothing")
    for reduction, oracle in ((reductions.ReduceAnd, np.bitwise_and), (reductions.ReduceOr, np.bitwise_or), (reductions.ReduceXor, np.bitwise_xor)):
        yield Row(reduction((1,)), lambda x, f=oracle: f.reduce(x, axis=1), real(2, 3, high=100), dtypes=WORDS)
        yield Row(reduction((0, 1)), lambda x, f=oracle: f.reduce(x, axis=(0, 1)), real(2, 0), dtypes=("bool",), note="nothing")
    for extreme, oracle in ((extreme_positions.ArgMax, np.argmax), (extreme_positions.ArgMin, np.argmin)):
        for axis in (0, 1):
            yield Row(extreme((axis,), INT32), first_extreme(oracle, axis), apart(2, 3), dtypes=(*HALF, "int32"), note=f"axis {axis}")
        yield Row(extreme((0,), INT32), first_extreme(oracle, 0), exactly([2.0, 1.0, 2.0, 1.0, 1.0, 2.0]), smooth=False, note="the first of equals")
        yield Row(extreme((1,), INT32), first_extreme(oracle, 1), exactly([[1, 1], [0, 1], [0, 0]]), dtypes=("uint8", "bool"), note="unsigned and truth")
        yield Row(extreme((1,), INT32), first_extreme(oracle, 1), NAN_AND_INFINITY, smooth=False, note="the first nan")
        yield Row(extreme((0,), INT32), first_extreme(oracle, 0), exactly([-np.inf] * 3), smooth=False, note="only -infinity")
        yield Row(extreme((0,), INT32), first_extreme(oracle, 0), exactly([np.inf] * 3), smooth=False, note="only infinity")
        yield Row(extreme((0,), INT32), first_extreme(oracle, 0), exactly([1.0, *[0.0, np.nan] * 40]), smooth=False, note="long")
    for axis, reverse in ((0, False), (1, False), (1, True)):
        turn = _reversed(axis) if reverse else (lambda x: x)
        note = f"axis {axis}{' from behind' if reverse else ''}"
        yield Row(cumulative.CumSum(axis, reverse), lambda x, f=turn, k=axis: f(f(x).cumsum(k)), real(3, 4), linear=((0,),), dtypes=COMPLEX + INTEGER, note=note)
        yield Row(cumulative.CumProd(axis, reverse), lambda x, f=turn, k=axis: f(f(x).cumprod(k)), real(3, 5), dtypes=COMPLEX + INTEGER, note=note)
        yield Row(cumulative.CumProd(axis, reverse), lambda x, f=turn, k=axis: f(f(x).cumprod(k)), WITH_ZEROS, note=f"{note}, zeros")
    for axis, reverse in ((0, False), (1, True)):
        turn = _reversed(axis) if reverse else (lambda x: x)
        note = f"axis {axis}{' from behind' if reverse else ''}"
        for running, oracle in ((cumulative.CumMax, np.maximum), (cumulative.CumMin, np.minimum)):
            yield Row(running(axis, reverse), lambda x, f=turn, k=axis, g=oracle: f(g.accumulate(f(x), k)), apart(3, 5), dtypes=(*HALF, "int32"), note=note)
            yield Row(running(axis, reverse), lambda x, f=turn, k=axis, g=oracle: f(g.accumulate(f(x), k)), NAN_AND_INFINITY, smooth=False, note=f"{note}, nan and infinity")
        yield Row(cumulative.CumLogSumExp(axis, reverse), lambda x, f=turn, k=axis: f(np.logaddexp.accumulate(f(x), k)), real(3, 5, high=9), note=note)
        yield Row(cumulative.CumLogSumExp(axis, reverse), lambda x, f=turn, k=axis: f(np.logaddexp.accumulate(f(x), k)), NAN_AND_INFINITY, smooth=False, note=f"{note}, nan and infinity")
    for running in (cumulative.CumMax, cumulative.CumMin, cumulative.CumLogSumExp):
        yield Row(running(0, False), lambda x: x, real(0, 2), note="nothing")
    yield Row(cumulative.CumSum(0, False), lambda x: x, real(0, 2), linear=((0,),), note="nothing")
    yield Row(cumulative.CumProd(0, False), lambda x: x, real(0, 2), note="nothing")

    yield Row(sorting.Sort(1, True, 1), lambda x: np.sort(x, 1), apart(2, 4), dtypes=(*HALF, "int32"))
    yield Row(sorting.Sort(0, True, 1), lambda x: np.sort(x, 0), NAN_AND_INFINITY, smooth=False, note="nan last")
    yield Row(sorting.Sort(0, True, 1), lambda x: np.sort(x, 0), real(3, 2, high=250), dtypes=("uint8", "bool"), note="unsigned and truth")
    yield Row(sorting.Sort(0, True, 1), lambda x: np.sort(x), exactly([2 - 1j, 1 + 2j, 1 - 2j, 2 + 1j, 1j]), dtypes=("complex64",), smooth=False, note="complex, tied real parts")
    yield Row(sorting.Sort(0, True, 1), lambda x: np.sort(x), exactly([2 - 1j, 1 + 2j, -2j, 3 + 1j, -1 + 1j]), dtypes=("complex64",), note="complex")
    yield Row(sorting.Sort(0, True, 1), lambda x: x, real(0, 2), note="nothing")
    yield Row(sorting.Sort(0, True, 1), lambda k, v: (np.sort(k), v[np.argsort(k, kind="stable")]), apart(5), real(5), note="one key")
    yield Row(sorting.Sort(0, True, 1), lambda k, v: (np.sort(k), v[np.argsort(k, kind="stable")]), exactly([1.0, 0.0, 1.0, -0.0]), exactly([3.0, 4.0, 1.0, 2.0]), smooth=False, note="equals stay in order")
    yield Row(sorting.Sort(0, True, 2), lambda k, v: (k[np.lexsort((v, k))], v[np.lexsort((v, k))]), exactly([2.0, 1.0, 2.0, 1.0]), apart(4), smooth=False, note="two keys")

    for axis in (0, 1):
        yield Row(sorting.TopK(2, axis), largest(2, axis), apart(3, 4), dtypes=(*HALF, "int32"), note=f"axis {axis}")
    yield Row(sorting.TopK(3, 0), largest(3, 0), exactly([1.0, 3.0, 3.0, -0.0, 3.0]), smooth=False, note="the first of equals")
    yield Row(sorting.TopK(0, 0), lambda x: (x[:0], np.zeros((0, 2))), real(3, 2), note="nothing")

    # special functions
    yield from unary(special.Lgamma(), scipy.special.gammaln, low=0.3, high=5, dtypes=HALF, tolerance=3)
    yield Row(special.Lgamma(), scipy.special.gammaln, exactly([-0.5, -2.3, -7.5]), note="negative", tolerance=3)
    yield from unary(special.Digamma(), scipy.special.digamma, low=0.3, high=5, tolerance=5)
    yield from unary(special.Erfc(), scipy.special.erfc, dtypes=HALF)
    yield Row(special.Erfc(), lambda x: scipy.special.erfc(x) * 1e9, exactly([4.0, 4.2]), smooth=False, note="far out", tolerance=1e9)
    yield from unary(bessel.BesselI1e(), scipy.special.i1e, low=0.2, high=4, tolerance=3)
    yield Row(formula_operations.InDouble(without_cancellation, 1), lambda x, y: np.square(x) - np.square(y), real(2, 3, low=1, high=1.01), real(2, 3, low=1, high=1.01), smooth=False)
    yield from unary(bessel.BesselI0e(), scipy.special.i0e, low=-3, high=30, dtypes=HALF, tolerance=3)
    yield Row(bessel.BesselI0e(), scipy.special.i0e, exactly([0.0, 30.0, np.inf, -np.inf, np.nan, 1e30]), smooth=False, note="edges", tolerance=3)
    yield Row(gamma.Igamma(), scipy.special.gammainc, real(2, 1, low=0.3, high=4), real(1, 3, low=0.2, high=6), dtypes=HALF, twice=False, tolerance=5)
    yield Row(gamma.Igammac(), scipy.special.gammaincc, real(2, 1, low=0.3, high=4), real(1, 3, low=0.2, high=6), dtypes=HALF, twice=False, tolerance=5)
    large = exactly([0.0, 0.0, 2.0, 2.0, 900.0, 900.0, -1.0, 2.0, np.nan]), exactly([0.0, 1.0, 0.0, np.inf, 850.0, 950.0, 2.0, -1.0, 2.0])
    yield Row(gamma.Igamma(), lambda a, x: np.where(a + x == 0, np.nan, scipy.special.gammainc(a, x)), *large, smooth=False, note="edges", tolerance=5)
    yield Row(gamma.Igammac(), lambda a, x: np.where(a + x == 0, np.nan, scipy.special.gammaincc(a, x)), *large, smooth=False, note="edges", tolerance=5)
    yield Row(gamma.IgammaGradA(), moved_gammainc, real(2, 3, low=0.5, high=20), real(2, 3, low=0.5, high=20), smooth=False, tolerance=5)
    yield Row(gamma.IgammaGradA(), moved_gammainc, real(2, 1, low=0.5, high=20), real(1, 3, low=0.5, high=20), smooth=False, note="stretched", tolerance=5)
    yield Row(gamma.RandomGammaGrad(), lambda a, x: -moved_gammainc(a, x) / np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a)), real(2, 3, low=0.5, high=9), real(2, 3, low=0.5, high=9), smooth=False, tolerance=20)
    yield Row(beta.RegularizedIncompleteBeta(), scipy.special.betainc, real(2, 3, low=0.5, high=20), real(2, 3, low=0.5, high=20), real(2, 3, low=0.1, high=0.9), smooth=False, dtypes=HALF, tolerance=5)
    edges = exactly([1.0, 1.0, 2.0, 0.0, 1.0, -1.0, 1.0]), exactly([2.0, 2.0, 1.0, 2.0, 0.0, 2.0, 1.0]), exactly([0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.5])
    yield Row(beta.RegularizedIncompleteBeta(), scipy.special.betainc, *edges, smooth=False, note="edges", tolerance=5)
    for order in (0.0, 1.0, 3.0):
        yield Row(special.Polygamma(), lambda m, x: scipy.special.polygamma(int(m), x), exactly(order), real(2, 3, low=0.5, high=4), tolerance=9, note=f"order {order:.0f}", smooth=False)
    yield Row(special.Zeta(), scipy.special.zeta, real(2, 3, low=2, high=4), real(2, 3, low=0.5, high=3), smooth=False, tolerance=3)

    # bits
    yield Row(bits.PopulationCount(), lambda x: np.bitwise_count(x.view(f"u{x.itemsize}")), real(2, 3, high=100), dtypes=("int32", "uint8", "int8"), raw=True)
    yield Row(bits.CountLeadingZeros(), leading_zeros, exactly([0, 1, 5, 100, 127]), dtypes=("int32", "uint8", "int8"), raw=True)
    yield Row(bits.CountLeadingZeros(), leading_zeros, exactly([-1, -2]), dtypes=("int32",), raw=True, note="negative")
    yield Row(bits.NextAfter(), np.nextafter, real(2, 3), real(2, 3), dtypes=("float32", "float16"), raw=True, smooth=False)
    yield Row(bits.NextAfter(), np.nextafter, exactly([0.0, 1.0, np.inf, np.nan]), exactly([-1.0, 1.0, 0.0, 1.0]), raw=True, smooth=False, note="edges")
    for dtype in ("int32", "uint32", "int8", "uint8"):
        limits = np.iinfo(dtype)
        edges = exactly([limits.max, limits.min, limits.max // 2, 3], dtype)
        yield Row(bits.MulHi(), upper_half, edges, exactly([limits.max, limits.max, 7, 2], dtype), raw=True, note=dtype)
    yield Row(bits.ReducePrecision(5, 10), lambda x: x.astype("float16"), real(2, 3), smooth=False)
    yield Row(bits.ReducePrecision(8, 7), lambda x: x.astype(ml_dtypes.bfloat16), real(2, 3), smooth=False, note="bfloat16")
    yield Row(bits.ReducePrecision(8, 23), lambda x: x, real(2, 3), linear=((0,),), smooth=False, note="all bits")

    # barriers
    yield Row(barriers.OptimizationBarrier(), lambda x, y: (x, y), real(2, 3), real(), linear=(BOTH, *EITHER), dtypes=NUMBERS)
    yield Row(barriers.Copy(), lambda x: x, real(2, 3), linear=((0,),), dtypes=NUMBERS)
    yield Row(barriers.DceSink(False), lambda x: (), real(2, 3), dtypes=NUMBERS, smooth=False)

    # indexing
    for at in ((0, 1), (7, -5)):
        starts = exactly(at[0], "int32"), exactly(at[1], "int32")
        yield Row(dynamic_slicing.DynamicSlice((2, 2)), block((2, 2)), real(3, 4), *starts, linear=((0,),), dtypes=NUMBERS if at == (0, 1) else FLOAT, note=f"at {at}")
        yield Row(dynamic_slicing.DynamicUpdateSlice(), replace_block, real(3, 4), real(2, 2), *starts, linear=(BOTH, *EITHER), note=f"at {at}")
    yield Row(dynamic_slicing.DynamicSlice((2,)), block((2,)), real(5), index(high=5, low=-2), linear=((0,),), note="anywhere")
    yield Row(dynamic_slicing.DynamicUpdateSlice(), replace_block, real(5), real(2), index(high=5, low=-2), linear=(BOTH,), note="anywhere")
    yield Row(dynamic_slicing.DynamicSlice(()), lambda x: x, real(), linear=((0,),), note="scalar")
    yield Row(dynamic_slicing.DynamicSlice((0, 2)), block((0, 2)), real(3, 2), index(high=2), index(high=2), linear=((0,),), note="nothing")
    yield Row(indexing.Gather(GATHER_ROWS, (1, 2)), rows_at, real(3, 2), index(4, 1, high=2), linear=((0,),), dtypes=(*NUMBERS, "bool"), note="rows")
    yield Row(indexing.Gather(GATHER_ROWS, (1, 2)), rows_at, real(3, 2), OUTSIDE, linear=((0,),), note="rows outside")
    yield Row(indexing.Gather(GATHER_ROWS._replace(offset_dims=(2,)), (1, 2)), rows_at, real(3, 2), index(2, 2, 1, high=2), linear=((0,),), note="rows by matrix")
    yield Row(indexing.Gather(GATHER_ROWS, (1, 2)), rows_at, real(3, 2), index(0, 1, high=2), linear=((0,),), note="no rows")
    yield Row(indexing.Gather(GATHER_ALONG, (1, 1)), along, real(2, 4), index(2, 3, 1, high=3), linear=((0,),), note="along an axis")
    yield Row(indexing.Gather(GATHER_WINDOWS, (2, 2)), corners, real(4, 3), exactly([[0, 0], [9, 1], [1, -3]], "int32"), linear=((0,),), note="windows")
    for fill in (None, 7):
        gather = indexing.Gather(GATHER_ROWS, (1, 2), "fill", fill)
        yield Row(gather, rows_or(fill), real(3, 2), OUTSIDE, dtypes=(*NUMBERS, "bool"), smooth=fill is not None, note=f"rows filled with {fill}")
    yield Row(indexing.Gather(GATHER_ROWS, (1, 2), "fill", 0), rows_or(0), real(3, 2), OUTSIDE, linear=((0,),), note="rows filled with zeros")
    yield Row(indexing.Gather(GATHER_ROWS._replace(offset_dims=(0,)), (1, 2), "fill", 0), lambda x, at: rows_or(0)(x, at).T, real(3, 2), OUTSIDE, linear=((0,),), note="columns filled")
    yield Row(indexing.Gather(GATHER_ALONG, (1, 1), "fill", 0), lambda x, at: np.where((at[..., 0] < 0) | (at[..., 0] > 3), 0, along(x, at)), real(2, 4), index(2, 3, 1, low=-2, high=6), linear=((0,),), note="along an axis, filled")
    yield Row(indexing.Gather(GATHER_ROWS, (1, 2), "promise_in_bounds", None, True, True), rows_at, real(3, 2), exactly([[0], [2]], "int32"), linear=((0,),), note="promises")
    yield Row(indexing.Gather(GATHER_ROWS, (1, 2)), rows_at, real(300, 2), exactly([[255], [3]], "uint8"), linear=((0,),), note="narrow indices")
    twice = exactly([[1], [1], [9], [1], [0]], "int32")
    for scatter, merge in ((scattering.ScatterSub, np.subtract), (scattering.ScatterMul, np.multiply), (scattering.ScatterMin, np.minimum), (scattering.ScatterMax, np.maximum)):
        linear = {"scatter_sub": ((0, 2), (0,), (2,)), "scatter_mul": ((0,),)}.get(scatter.name, ())
        kinds = FLOAT if linear == () else COMPLEX
        for mode in ("drop", "clip"):
            yield Row(scatter(PUT_ROWS, mode), put_rows(mode, merge), apart(3, 2), twice, real(5, 2, low=0.3), linear=linear, dtypes=(*kinds, "int32"), note=f"rows thrice, {mode}")
        linear = linear if linear != ((0,),) else EITHER_END
        yield Row(scatter(PUT_ROWS, "drop", False, True), put_rows("drop", merge), real(3, 2), DIFFERENT_ROWS, real(2, 2), linear=linear, note="unique")
        yield Row(scatter(PUT_ALONG, "clip"), put_along(merge), real(2, 4), exactly([[[1], [3]], [[0], [0]]], "int32"), real(2, 2), note="along an axis")
    zeros = exactly([[0.0, 2.0], [1.5, 0.0], [3.0, 0.0], [1.0, 1.0], [0.0, 0.5]])
    yield Row(scattering.ScatterMul(PUT_ROWS, "drop"), put_rows("drop", np.multiply), real(3, 2), twice, zeros, linear=((0,),), smooth=False, note="zeros")
    for scatter, add in ((indexing.ScatterAdd, True), (indexing.Scatter, False)):
        linear = (((0, 2), (0,), (2,)) if add else ((0,),))
        note = "added" if add else "put"
        for mode in ("drop", "clip"):
            yield Row(scatter(PUT_ROWS, mode), put_rows(mode, add), real(3, 2), DIFFERENT_ROWS, real(2, 2), linear=linear, note=f"rows {note}, {mode}")
            outside = exactly([[9], [1]] if mode == "drop" else [[9], [-4]], "int32")
            yield Row(scatter(PUT_ROWS, mode), put_rows(mode, add), real(3, 2), outside, real(2, 2), linear=linear, note=f"outside {note}, {mode}")
        yield Row(scatter(PUT_ALONG, "clip"), put_along(add), real(2, 4), exactly([[[1], [3]], [[0], [2]]], "int32"), real(2, 2), linear=linear, note=f"along an axis {note}")
    yield Row(indexing.Scatter(PUT_ROWS, "drop"), put_rows("drop", False), real(3, 2), exactly([[1], [1], [0], [1]], "int32"), real(4, 2), linear=((0,),), note="one row thrice put")
    yield Row(indexing.ScatterAdd(PUT_ROWS, "drop"), put_rows("drop", True), real(3, 2), exactly([[1], [1], [1]], "int32"), real(3, 2), linear=((0, 2),), dtypes=("float32", "int32", "bfloat16"), note="one row thrice")

    # linear algebra
    for contract, batch, left, right in (
        (((1,), (0,)), ((), ()), (2, 3), (3, 2)),
        (((0,), (1,)), ((), ()), (3, 2), (4, 3)),
        (((0,), (0,)), ((), ()), (3,), (3,)),
        (((), ()), ((), ()), (2,), (3,)),
        (((2,), (1,)), ((0,), (0,)), (2, 3, 4), (2, 4, 3)),
        (((0, 2), (2, 0)), ((), ()), (2, 3, 4), (4, 2, 2)),
        (((0, 3), (3, 1)), ((2,), (0,)), (2, 3, 4, 2), (4, 2, 3, 2)),
        (((1,), (0,)), ((), ()), (2, 0), (0, 3)),
        (((1,), (0,)), ((), ()), (2, 3), (3,)),
    ):
        plain = left == (2, 3) and right == (3, 2)
        yield Row(
            *dot(contract, batch), real(*left), real(*right), linear=EITHER,
            dtypes=(*HALF, "complex64", "int32") if plain else FLOAT, note=f"{_sizes(left)}·{_sizes(right)}", tolerance=4,
        )
    highest = dot_product.precision_of("highest")
    wide = dot_product.DotGeneral((((1,), (0,)), ((), ())), highest, np.dtype("float32"))
    yield Row(
        lambda dtype: scaled_products.ScaledDot((((2,), (1,)), ((0,), (0,))), np.dtype(dtype)),
        lambda x, y, s, t: np.matmul(x * np.repeat(s, 2, 2), y * np.repeat(t, 2, 1)),
        real(2, 3, 4), real(2, 4, 2), real(2, 3, 2), real(2, 2, 2), tolerance=4,
    )
    yield Row(wide, np.matmul, real(2, 3), real(3, 2), dtypes=("bfloat16", "float16"), linear=EITHER, smooth=False, note="wider result", tolerance=30)

    # convolutions
    for note, sizes, arguments in (
        ("plain", ((2, 3, 5), (4, 3, 2)), ((1,), ((0, 0),), (1,), (1,))),
        ("no places", ((2, 3), (4, 3)), ((), (), (), ())),
        ("strides, holes, padding", ((2, 2, 5), (3, 2, 2)), ((2,), ((2, -1),), (2,), (2,))),
        ("layout", ((5, 2, 4, 3), (2, 3, 3, 2)), ((1, 2), ((1, 1), (0, 1)), (1, 1), (1, 1), ((1, 3, 0, 2), (3, 2, 0, 1), (0, 3, 1, 2)))),
        ("features in groups", ((2, 4, 4), (6, 2, 2)), ((2,), ((1, 0),), (1,), (1,), None, 2)),
        ("batch in groups", ((4, 2, 4), (6, 2, 2)), ((1,), ((1, -1),), (1,), (2,), None, 1, 2)),
        ("no batch", ((0, 2, 4), (3, 2, 2)), ((1,), ((0, 0),), (1,), (1,))),
    ):
        operands = [real(*shape) for shape in sizes]
        yield Row(*conv(*arguments), *operands, linear=EITHER, dtypes=(*HALF, "complex64", "int32") if note == "plain" else FLOAT, note=note, tolerance=5)

    # windows
    for note, shape, arguments in (
        ("plain", (4,), ((2,), (1,), ((0, 0),), (1,), (1,))),
        ("two axes", (4, 3), ((2, 2), (2, 1), ((0, 1), (1, 0)), (1, 1), (1, 1))),
        ("holes and cropping", (4,), ((2,), (2,), ((-1, 2),), (2,), (2,))),
        ("no axes", (), ((), (), (), (), ())),
        ("none", (2,), ((3,), (1,), ((0, 0),), (1,), (1,))),
    ):
        yield Row(windows.ReduceWindowSum(*arguments), sums_of_windows(*arguments) if note != "none" else lambda x: x[:0], real(*shape), linear=((0,),), dtypes=(*HALF, "complex64", "int32") if note == "plain" else FLOAT, note=note, tolerance=3)
        if note not in ("no axes", "none"):
            yield Row(windows.ReduceWindowMax(*arguments), extremes_of_windows(np.max, -np.inf, *arguments), apart(*shape), dtypes=HALF, note=note, smooth=note != "holes and cropping")
            yield Row(windows.ReduceWindowMin(*arguments), extremes_of_windows(np.min, np.inf, *arguments), apart(*shape), dtypes=HALF, note=note, smooth=note != "holes and cropping")
    for note, shape, (kernel, strides, pads) in (
        ("plain", (4,), ((2,), (1,), ((0, 0),))),
        ("apart", (5,), ((2,), (2,), ((0, 0),))),
        ("two axes", (4, 3), ((2, 2), (2, 1), ((0, 0), (0, 0)))),
    ):
        ones = (1,) * len(kernel)
        many = windows.SelectAndGatherAdd(kernel, strides, pads, ones, ones, "ge")
        yield Row(many, gathered(kernel, strides, pads), real(*shape), apart(*shape), linear=((0,),), note=note)
        source = real(*many.windows(shape))
        yield Row(windows.SelectAndScatterAdd(kernel, strides, pads, "ge"), scattered(kernel, strides, pads), source, apart(*shape), linear=((0,),), note=note)
    product = stage(lambda x, y: [arithmetic.mul(x, y)], [make_aval((), np.dtype("float32"))] * 2)
    both = stage(lambda x, y, u, v: [arithmetic.mul(x, u), arithmetic.add(y, v)], [make_aval((), np.dtype("float32"))] * 4)
    yield Row(Reduce(product, (0,)), lambda x, start: x.prod(0) * start, real(3, 2), exactly(2.0), smooth=False, note="product", tolerance=3)
    yield Row(Reduce(product, (1, 0)), lambda x, start: x.prod() * start, real(2, 2), exactly(2.0), smooth=False, note="all", tolerance=3)
    yield Row(Reduce(product, (0,)), lambda x, start: np.full(2, start), real(0, 2), exactly(2.0), smooth=False, note="nothing")
    yield Row(Reduce(both, (1,)), lambda x, y, p, q: (x.prod(1) * p, y.sum(1) + q), real(2, 3), real(2, 3), exactly(1.0), exactly(0.0), smooth=False, note="two", tolerance=3)
    for note, shape, arguments in (
        ("product", (4,), ((2,), (1,), ((0, 0),), (1,), (1,))),
        ("two axes", (3, 3), ((2, 2), (2, 1), ((0, 1), (1, 0)), (1, 1), (1, 1))),
        ("holes", (4,), ((2,), (2,), ((-1, 2),), (2,), (2,))),
    ):
        yield Row(_windows_of(product, *arguments), extremes_of_windows(np.prod, 1.0, *arguments), real(*shape), exactly(1.0), smooth=False, note=note, tolerance=3)

    # random bits
    yield Row(random_bits.Threefry2x32(), threefry, words(), words(), words(3), words(3))
    yield Row(random_bits.Threefry2x32(), threefry, words(2, 1), words(2, 1), words(1, 3), words(1, 3), note="stretched")
    philox_10 = random_generators.RandomAlgorithm.RNG_PHILOX
    for dtype in ("uint8", "uint16", "uint32"):
        drawing = random_generators.RngBitGenerator((2, 3), np.dtype(dtype), philox_10)
        yield Row(drawing, philox((2, 3), dtype), exactly([1, 2, 2**32 - 1, 3], "uint32"), dtypes=("float32",), loops=False, note=dtype)
    yield Row(random_generators.RngUniform((2, 3)), lambda a, b: np.full((2, 3), a), exactly(3, "int32"), exactly(4, "int32"), dtypes=("int32",), loops=False)

    # programs
    yield Row(_call(lambda x, y: [arithmetic.mul(x, trigonometry.sin(y)), arithmetic.sub(x, y)], (2, 3), (2, 3)), lambda x, y: (x * np.sin(y), x - y), real(2, 3), real(2, 3))
    yield Row(_call(lambda x, y: [arithmetic.mul(x, 3.0), exponentials.exp(y), x], (2,), ()), lambda x, y: (x * 3, np.exp(y), x), real(2), real(), note="results apart")
    yield Row(_call(lambda x: [tangent_arithmetic.ADD_ANY and arithmetic.add(x, x), shapes.full((2,), np.float32(1))], (3,)), lambda x: (x + x, np.ones(2)), real(3), dtypes=FLOAT, linear=((0,),), smooth=False, note="linear")

    # control flow
    pair = [(2,), (2,)]
    yield Row(_cond(lambda x, y: [arithmetic.mul(x, trigonometry.sin(y)), y], lambda x, y: [arithmetic.sub(x, y), exponentials.exp(x)], shapes=pair), lambda n, x, y: (x - y, np.exp(x)) if n else (x * np.sin(y), y), index(high=1), real(2), real(2))
    yield Row(_cond(*[lambda x, k=k: [arithmetic.mul(x, float(k))] for k in range(3)], shapes=[(3,)]), lambda n, x: n * x, index(high=2), real(3), linear=((1,),), note="linear")
    yield Row(_cond(lambda x, y: [arithmetic.mul(x, y), x], lambda x, y: [shapes.full((2,), x.dtype.type(1)), y], shapes=pair), lambda n, x, y: (np.ones(2), y) if n else (x * y, x), index(high=1), real(2), real(2), note="one branch moves")
    yield Row(
        _while(lambda end, i, x: [comparisons.lt(i, end)], lambda w, i, x: [arithmetic.add(i, np.int32(1)), arithmetic.mul(trigonometry.sin(x), w)], ["i"], [(2,)], ["i", (2,)]),
        lambda end, w, i, x: looped(lambda w, i, x: (i + 1, np.sin(x) * w), 1, 2, max(end - i, 0))(w, i, x),
        index(low=1, high=4), real(2), index(high=1), real(2), smooth=False, note="forward mode only",
    )
    yield Row(
        _scan(lambda w, c, x: [arithmetic.add(arithmetic.mul(trigonometry.sin(c), w), x), arithmetic.mul(c, x)], [(2,)], [(2,)], [(2,)], 3),
        looped(lambda w, c, x: (np.sin(c) * w + x, c * x), 1, 1, 3), real(2), real(2), real(3, 2),
    )
    yield Row(
        _scan(lambda n, c, x: [arithmetic.add(n, np.int32(1)), arithmetic.mul(trigonometry.sin(c), x), arithmetic.mul(n, n), exponentials.exp(c)], [], ["i", ()], [()], 5, True, 2),
        looped(lambda n, c, x: (n + 1, np.sin(c) * x, n * n, np.exp(c)), 0, 2, 5, True), index(high=3), real(), real(5), note="reverse, unrolled, with a counter",
    )
    yield Row(
        _scan(lambda k, c, x: [arithmetic.add(arithmetic.mul(c, 0.5), k), arithmetic.sub(x, c)], [(2,)], [(2,)], [(2,)], 3),
        looped(lambda k, c, x: (c * 0.5 + k, x - c), 1, 1, 3), real(2), real(2), real(3, 2), linear=((0, 1, 2), (1, 2), (0, 1)), note="linear",
    )
    yield Row(
        _scan(lambda w, c, x, f: [arithmetic.add(arithmetic.mul(c, w), arithmetic.mul(x, f)), c], [(2,)], [(2,)], [(2,), (2,)], 3, True),
        looped(lambda w, c, x, f: (c * w + x * f, c), 1, 1, 3, True), real(2), real(2), real(3, 2), real(3, 2), linear=((1, 2), (1, 3), (1,)), note="linear beside known",
    )
    yield Row(
        _scan(lambda n, c, x: [arithmetic.add(n, np.int32(1)), arithmetic.add(c, arithmetic.mul(x, conversion.convert_element_type(n, x.dtype))), c], [], ["i", ()], [()], 4),
        looped(lambda n, c, x: (n + 1, c + x * n, c), 0, 2, 4), index(high=3), real(), real(4), linear=((1, 2),), note="linear beside a counter",
    )


def _slicer(*bounds: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda x: x[tuple(map(slice, *bounds))]


def _converted(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    def convert(x: Any) -> Any:
        if x.dtype.kind == "c" and dtype.kind not in "cb":
            x = x.real
        return (np.trunc(x) if dtype.kind in "iu" and x.dtype.kind == "f" else x).astype(dtype)

    return convert


def _reversed(axis: int) -> Callable[[Any], Any]:
    return lambda x: np.flip(x, axis)


def _fourier_rows() -> Iterator[Row]:
    kinds = fourier.FftType
    over = {1: (-1,), 2: (-2, -1), 3: (-3, -2, -1)}
    for lengths, shape in (((5,), (5,)), ((4,), (2, 4)), ((3, 4), (3, 4)), ((2, 3, 5), (2, 3, 5))):
        for kind, oracle in ((kinds.FFT, np.fft.fftn), (kinds.IFFT, np.fft.ifftn)):
            yield Row(fourier.Fft(kind, lengths), lambda x, f=oracle, n=lengths: f(x, axes=over[len(n)]), real(*shape), dtypes=("complex64", "complex128"), linear=((0,),))
        half = (*shape[:-1], shape[-1] // 2 + 1)
        yield Row(fourier.Fft(kinds.RFFT, lengths), lambda x, n=lengths: np.fft.rfftn(x, axes=over[len(n)]), real(*shape), dtypes=("float32", "float64"), linear=((0,),))
        yield Row(fourier.Fft(kinds.IRFFT, lengths), lambda x, n=lengths: np.fft.irfftn(x, n, axes=over[len(n)]), real(*half), dtypes=("complex64", "complex128"), linear=((0,),))
    yield Row(fourier.Fft(kinds.IRFFT, (1,)), lambda x: x.real, real(2, 1), dtypes=("complex64",), linear=((0,),), note="one")
    yield Row(fourier.Fft(kinds.FFT, (3,)), lambda x: x, real(0, 3), dtypes=("complex64",), note="nothing")
    yield Row(fourier.Fft(kinds.FFT, (0,)), lambda x: x, real(3, 0), dtypes=("complex64",), note="no elements")


def _linear_algebra_rows() -> Iterator[Row]:
    matrices = ("float32", "float64", "complex64", "complex128")
    regular = exactly([[2.0, -1.0, 0.5], [0.3, 1.5, -0.7], [-0.2, 0.4, 1.8]])
    definite = exactly([[2.0, 0.4, 0.1], [0.4, 1.5, -0.3], [0.1, -0.3, 1.2]])
    for left, below, flip, unit in itertools.product((True, False), repeat=4):
        solve = triangular.TriangularSolve(left, below, flip, True, unit)
        yield Row(solve, _solving_triangle(solve), regular, real(*((3, 2) if left else (2, 3))), dtypes=matrices, linear=((1,),), tolerance=3)
    yield Row(triangular.TriangularSolve(True, True, False, False, False), lambda a, b: b, real(0, 0), real(0, 2), note="nothing")
    diagonals = exactly([0.0, 0.3, -0.4]), exactly([2.0, 1.5, 1.8]), exactly([-1.0, 0.7, 0.0])
    yield Row(tridiagonal.TridiagonalSolve(), _solving_bands, *diagonals, real(3, 2), dtypes=matrices, linear=((3,),), tolerance=3)
    # only the lower triangle is looked at, so these do not move with the upper one
    yield Row(cholesky.Cholesky(), np.linalg.cholesky, definite, dtypes=matrices, smooth=False)
    yield Row(cholesky.Cholesky(), lambda a: np.where(np.tril(np.ones(a.shape)), np.nan, 0), exactly(-np.eye(2)), smooth=False, note="indefinite")
    for shape in ((3, 3), (4, 3), (3, 4), (2, 3, 3)):
        yield Row(lu.LU(), _lu, real(*shape), dtypes=matrices, tolerance=9)
        yield Row(householder.Geqrf(), _reflections, real(*shape), smooth=False, tolerance=20)
        for full in (False, True):
            smooth = shape[-2] <= shape[-1] or not full
            yield Row(qr.Qr(False, full), lambda a, f=full: _qr(a, f), real(*shape), dtypes=matrices, smooth=smooth, tolerance=40)
            yield Row(qr.Qr(True, full), lambda a, f=full: _qr(a, f, True), real(*shape), smooth=False, tolerance=40)
    yield Row(lu.LUPivotsToPermutation(4), lambda p: np.array([2, 0, 3, 1]), exactly([2, 2, 3], "int32"), smooth=False)
    orders = exactly([[2, 0, 3, 1], [1, 2, 0, 3]], "int32")
    yield Row(row_permutations.PermuteRows(), lambda x, p: np.take_along_axis(x, p[..., None], -2), real(2, 4, 3), orders, dtypes=matrices, linear=((0,),))
    yield Row(row_permutations.PermuteRows(), lambda x, p: x, real(0, 3), exactly([], "int32"), linear=((0,),), note="nothing")
    yield Row(householder.HouseholderProduct(), lambda a, t: scipy.linalg.lapack.dorgqr(a, t)[0], real(4, 3), real(3, high=1), smooth=False, tolerance=20)
    yield Row(householder.Ormqr(True, False), _times_reflections, real(4, 3), real(3, high=1), real(4, 2), smooth=False, tolerance=20)
    yield Row(hermitian_eigenvalues.Eigh(True, True), lambda a: np.linalg.eigh(a)[::-1], definite, smooth=False, tolerance=9)
    yield Row(general_eigenvalues.Eig(False, False, False), np.linalg.eigvals, regular, dtypes=("float32", "float64"), twice=False, tolerance=9)
    yield Row(general_eigenvalues.Schur(True), lambda a: scipy.linalg.schur(a), regular, dtypes=("float32", "float64"), smooth=False, tolerance=9)
    yield Row(general_eigenvalues.Hessenberg(), _hessenberg, real(3, 3), smooth=False, tolerance=20)
    yield Row(hermitian_eigenvalues.Tridiagonal(True), lambda a: scipy.linalg.lapack.dsytrd(a, lower=1)[:4], definite, smooth=False, tolerance=20)
    kind = singular_values.SvdAlgorithm
    for shape in ((3, 3), (4, 2), (2, 4)):
        yield Row(singular_values.Svd(False, False, kind.DEFAULT), lambda a: np.linalg.svd(a, compute_uv=False), real(*shape), dtypes=matrices, tolerance=9)
        yield Row(singular_values.Svd(False, True, kind.QR), _svd, real(*shape), dtypes=("float32", "float64"), tolerance=40)


def _solving_triangle(solve: Any) -> Callable[[Any, Any], Any]:
    def oracle(a: Any, b: Any) -> Any:
        a = np.tril(a) if solve.lower else np.triu(a)
        if solve.unit_diagonal:
            a = a - np.diag(np.diag(a)) + np.eye(len(a))
        a = (a.T if solve.transpose_a else a).conj()
        return np.linalg.solve(a, b) if solve.left_side else np.linalg.solve(a.T, b.T).T

    return oracle


def _solving_bands(dl: Any, d: Any, du: Any, b: Any) -> Any:
    return np.linalg.solve(np.diag(dl[1:], -1) + np.diag(d) + np.diag(du[:-1], 1), b)


def _stacked(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def of_stack(a: Any) -> Any:
        return function(a) if a.ndim == 2 else [np.stack(parts) for parts in zip(*map(function, a), strict=True)]

    return of_stack


@_stacked
def _lu(a: Any) -> Any:
    routine = scipy.linalg.lapack.zgetrf if a.dtype.kind == "c" else scipy.linalg.lapack.dgetrf
    factors, pivots, _ = routine(a)
    order = list(range(len(a)))
    for i, p in enumerate(pivots):
        order[i], order[p] = order[p], order[i]
    return factors, pivots, np.array(order)


@_stacked
def _reflections(a: Any) -> Any:
    return scipy.linalg.lapack.dgeqrf(a)[:2]


def _qr(a: Any, full: bool, pivoting: bool = False) -> Any:
    mode = "full" if full else "economic"
    return _stacked(lambda x: scipy.linalg.qr(x, mode=mode, pivoting=pivoting))(a)


def _times_reflections(a: Any, taus: Any, c: Any) -> Any:
    whole = np.zeros((4, 4))
    whole[:, :3] = a
    return scipy.linalg.lapack.dorgqr(whole, taus)[0] @ c


def _hessenberg(a: Any) -> Any:
    made, taus, _ = scipy.linalg.lapack.dgehrd(a)
    return made, taus


def _svd(a: Any) -> Any:
    u, s, vh = scipy.linalg.svd(a, full_matrices=False, lapack_driver="gesvd")
    return s, u, vh


def _named(rows: Iterator[Row]) -> list[Row]:
    """Give each row an id: the operation's name, the note, and a number where these are not unique."""
    found, seen = [], {}
    for row in rows:
        label = f"{row.name}-{row.note}".rstrip("-").replace(" ", "_")
        seen[label] = seen.get(label, 0) + 1
        row.id = label if seen[label] == 1 else f"{label}-{seen[label]}"
        found.append(row)
    return found


ROWS = _named(itertools.chain(_rows(), _fourier_rows(), _linear_algebra_rows()))
