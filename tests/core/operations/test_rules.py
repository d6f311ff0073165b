"""The rules of every operation, row by row: values, derivatives, transposes, batching, lowering."""

import itertools
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax, settings
from xlascope.dtypes import float0, is_differentiable
from xlascope.ir.jaxpr import ClosedJaxpr
from xlascope.ir.markers import ZERO, LinearInput
from xlascope.ir.operation import Operation
from xlascope.lax.primitives import operations_by_name
from xlascope.operations.collectives import CollectiveOperation
from xlascope.operations.operand_checks import type_of
from xlascope.trace.bind import bind
from xlascope.trace.jaxpr_trace import stage
from xlascope.trace.values import aval_of
from xlascope.transforms import differentiate
from xlascope.xla.lowering import module_lowering
from xlascope.xla.lowering.module_lowering import is_lowered_as_stablehlo, lower

DOUBLE = {"float32": "float64", "complex64": "complex128"}


def x64(dtype: str) -> AbstractContextManager[Any]:
    return settings.enable_x64() if dtype in ("float64", "complex128") else nullcontext()


def close(found: Any, wanted: Any, tolerance: float, what: str = "") -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    kind = np.complex128 if "c" in (found.dtype.kind, wanted.dtype.kind) else np.float64
    np.testing.assert_allclose(found.astype(kind), wanted.astype(kind), rtol=tolerance, atol=tolerance, err_msg=what)


def scalars(operands: Sequence[Any]) -> list[Any]:
    """Operands with arrays without axes as NumPy scalars, which rules have to accept as well."""
    return [x[()] for x in operands]


# Every operation has a row, and the rules that its rows ask for ------------------------------------------------------


def collectives() -> set[str]:
    """Operations that need a named axis around them: their rows are in tests/core/transforms/test_axis_names.py."""
    return {op.name for op in operations_by_name().values() if issubclass(op, CollectiveOperation)}


#: Operations that hold functions: tests/core/control/test_rule_programs.py has programs of each of them,
#: tests/core/test_callbacks.py of those that hold Python functions, test_loop_rerolling.py of the one that is lowered.
OF_FUNCTIONS = {
    "composite",
    "custom_jvp_call",
    "custom_lin",
    "custom_linear_solve",
    "custom_vjp_call",
    "custom_vmap_call",
    "debug_callback",
    "io_callback",
    "linear_call",
    "name",
    "pure_callback",
    "remat2",
    "repeated",
    "unknown_tangents",
}
#: Operations on several devices: tests/core/parallel has programs of each of them.
ON_DEVICES = {"mesh_cast", "pvary", "shard_map", "sharding_constraint"}
#: Operations on keys, which no oracle holds: tests/core/random/test_typed_keys.py and test_key_reuse.py have programs.
OF_KEYS = {"consume_key", "random_unwrap", "random_wrap"}


def test_every_operation_has_a_row(table):
    named = {row.name for row in table.ROWS} | collectives() | OF_FUNCTIONS | OF_KEYS | ON_DEVICES
    missing = [
        op.name
        for op in operations_by_name().values()
        if op.__module__.startswith("xlascope.") and op.name not in named
    ]
    assert not missing, f"add a row to tests/core/operations/table.py for {', '.join(missing)}"


def test_every_transpose_rule_has_a_row(table):
    with_rule = {
        op.name
        for op in operations_by_name().values()
        if op.__module__.startswith("xlascope.") and op.transpose_rule is not Operation.transpose_rule
    }
    refusing = {"while"}  # its rule says why it cannot
    missing = with_rule - {row.name for row in table.ROWS if row.linear} - collectives() - refusing
    missing -= OF_FUNCTIONS | ON_DEVICES
    assert not missing, f"say in tests/core/operations/table.py in which operands these are linear: {missing}"


# Values -------------------------------------------------------------------------------------------------------------


def test_value(row, dtype, table):
    operation, operands = row.operation(dtype), row.make(dtype)
    found = bind(operation, *scalars(operands))
    wanted = row.expected(operands)
    avals = operation.abstract_eval([aval_of(x) for x in operands])
    assert len(found) == len(wanted) == len(avals)
    for y, expected, aval in zip(found, wanted, avals, strict=True):
        assert (y.shape, y.dtype) == (aval.shape, aval.dtype)
        assert y.shape == expected.shape
        tolerance = max(table.TOLERANCE.get(dtype, 0), table.TOLERANCE.get(y.dtype.name, 0)) * row.tolerance
        close(y, expected, tolerance if y.dtype.kind not in "biu" else 0)


#: Operations of which something that is emitted is not used, in programs of several steps.
EMIT_UNUSED = {"lu", "lu_pivots_to_permutation", "select_and_scatter_add", "scan", "igamma", "igammac"}
EMIT_UNUSED |= {"conv_general_dilated"}


def find_unused(text):
    """Return the values of a module's functions that nothing uses."""
    functions = re.split(r"func\.func", text)[1:]
    emitted = ((f, name) for f in functions for name in re.findall(r"^\s*(%\w+)(?::\d+)? = stablehlo", f, re.MULTILINE))
    return [name for f, name in emitted if len(re.findall(rf"{name}\b", f)) == 1]


def test_lowering_is_valid_and_jit_agrees(row, table):
    dtype = row.dtypes[0]
    operation, operands = row.operation(dtype), row.make(dtype)
    program = stage(lambda *xs: bind(operation, *xs), [aval_of(x) for x in operands], "f")
    module = lower(program, "f").module.operation
    assert module.verify()
    assert operation.name in EMIT_UNUSED or not find_unused(module.get_asm())
    if is_the_operation_alone(program.jaxpr, operation):  # this program runs outside of jit, too: see test_value
        return
    compiled = xs.jit(lambda *values: bind(operation, *values))(*operands)
    for y, eager in zip(compiled, bind(operation, *operands), strict=True):
        assert (y.shape, y.dtype) == (eager.shape, eager.dtype)
        close(y, eager, table.TOLERANCE.get(dtype, 0))


def is_the_operation_alone(jaxpr: Any, operation: Operation) -> bool:
    """Return whether a program is what runs outside of jit: one compiled operation of all operands in order."""
    calls = list(jaxpr.eqns)
    return (
        operation.host_rule is None
        and operation.stage_rule is None
        and len(calls) == 1
        and calls[0].operation == operation
        and list(calls[0].invars) == list(jaxpr.invars)
        and list(calls[0].outvars) == list(jaxpr.outvars)
    )


def test_what_is_emitted_at_once_is_what_the_rule_emits(table, monkeypatch):
    def traced_twice(operation, operands):  # the first result of a type is emitted by the rule
        return stage(lambda *xs: bind(operation, *xs) + bind(operation, *xs), list(map(aval_of, operands)), "f")

    kinds = set()
    for row in table.ROWS:
        operation = row.operation(row.dtypes[0])
        if not is_lowered_as_stablehlo(type(operation)) or operation.as_stablehlo() is None:
            continue
        kinds.add(type(operation))
        with x64(row.dtypes[0]):
            program = traced_twice(operation, row.make(row.dtypes[0]))
            text = lower(program, "f").module.operation.get_asm(enable_debug_info=True)
            with monkeypatch.context() as patch:
                patch.setattr(module_lowering, "is_lowered_as_stablehlo", lambda kind: False)
                assert lower(program, "f").module.operation.get_asm(enable_debug_info=True) == text
    assert len(kinds) > 25


def test_a_rule_that_is_overridden_is_used():
    class Doubled(type(lax.neg_p.operation.instance)):
        def to_stablehlo(self, builder, operands):
            return [builder.emit1("stablehlo.add", [*operands, *operands], builder.out_avals[0])]

    x = np.ones(3, np.float32)
    program = stage(lambda x: bind(Doubled(), *bind(Doubled(), x)), [aval_of(x)], "f")
    text = str(lower(program, "f").module)
    assert (text.count("stablehlo.add"), text.count("negate")) == (2, 0)


# Derivatives --------------------------------------------------------------------------------------------------------


def moving_part(operation: Operation, operands: Sequence[Any]) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The operation as a function of its floating-point operands alone, and these."""
    moves = [is_differentiable(x.dtype) for x in operands]

    def function(*moving: Any) -> list[Any]:
        rest = iter(moving)
        return bind(operation, *(next(rest) if m else x for m, x in zip(moves, operands, strict=True)))

    return function, [x for x, m in zip(operands, moves, strict=True) if m]


def direction(random: np.random.Generator, x: Any) -> Any:
    drawn = random.uniform(-1, 1, np.shape(x))
    if x.dtype.kind == "c":
        drawn = drawn + 1j * random.uniform(-1, 1, np.shape(x))
    return np.asarray(drawn).astype(x.dtype)[()]


def quotient(function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The change of a function by central differences of fourth order."""

    def at(step: float) -> list[Any]:
        moved = [np.asarray(x + step * t).astype(x.dtype) for x, t in zip(primals, tangents, strict=True)]
        return [np.asarray(y) for y in function(*moved)]

    h = 1e-3
    values = [at(step) for step in (-2 * h, -h, h, 2 * h)]
    return [(p - 8 * q + 8 * r - s) / (12 * h) for p, q, r, s in zip(*values, strict=True)]


def instantiated(tangents: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Tangents as arrays, those that do not move as zeros."""
    return [np.zeros(np.shape(y)) if t is ZERO else t for t, y in zip(tangents, results, strict=True)]


def push(
    function: Callable[..., list[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Results and tangents by the jvp rule."""
    results, moved = differentiate.jvp(function, primals, tangents)
    return results, instantiated(moved, results)


def pull(function: Callable[..., list[Any]], primals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Cotangents of the operands by linearization and transposition."""
    return list(xs.vjp(function, *primals)[1](list(cotangents)))


def dot(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """The real part of the sum of products, without conjugation: the pairing of cotangents and tangents."""
    total = 0.0
    for x, y in zip(left, right, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        x, y = (z if z.dtype.kind == "c" else z.astype(np.float64) for z in (x, y))
        total = total + np.sum(x * y).real
    return total


def derivative_case(row: Any, dtype: str) -> tuple[Callable[..., list[Any]], list[Any], list[Any], list[Any]]:
    """A row's function of moving operands, these, tangents for them, and cotangents for the floating-point results."""
    function, primals = moving_part(row.operation(dtype), row.make(dtype))
    random = np.random.default_rng(3)
    tangents = [direction(random, x) for x in primals]
    cotangents = [
        direction(random, y) if is_differentiable(y.dtype) else np.zeros(y.shape, float0)
        for y in map(np.asarray, function(*primals))
    ]
    return function, scalars(primals), tangents, cotangents


def doubles(row: Any) -> list[str]:
    """The wide dtypes in which a row's derivatives are compared with difference quotients."""
    return [DOUBLE[dtype] for dtype in row.dtypes if dtype in DOUBLE]


@pytest.mark.rows("moving")
def test_derivative(row):
    assert doubles(row)
    for dtype in doubles(row):
        with x64(dtype):
            check_derivative(*derivative_case(row, dtype))


def check_derivative(function: Any, primals: list[Any], tangents: list[Any], cotangents: list[Any]) -> None:
    floating = [np.asarray(ct).dtype.kind in "fc" for ct in cotangents]
    whole = [ct if real else np.zeros(np.shape(ct)) for ct, real in zip(cotangents, floating, strict=True)]
    both = xs.jit(lambda xs_, ts, cts: (*push(function, xs_, ts), pull(function, xs_, cts)))
    results, moved, received = both(primals, tangents, whole)
    for y, eager in zip(results, function(*primals), strict=True):
        close(y, eager, 1e-12)
    for t, q, real in zip(moved, quotient(function, primals, tangents), floating, strict=True):
        assert np.shape(t) == q.shape
        close(t, q if real else 0 * q, 1e-8)
    for ct, x in zip(received, primals, strict=True):
        assert (ct.shape, ct.dtype) == (x.shape, x.dtype)
    close(dot(whole, moved), dot(received, tangents), 1e-9)


@pytest.mark.rows("moving")
def test_derivative_without_jit_in_single_precision(row):
    dtype = row.single
    function, primals, tangents, cotangents = derivative_case(row, dtype)
    _, moved = push(function, primals, tangents)
    received = pull(function, primals, cotangents)
    for t, q in zip(
        moved,
        quotient(lambda *z: row.expected(_rebuilt(row, dtype, z)), _double(primals), _double(tangents)),
        strict=True,
    ):
        close(t, q if np.asarray(t).dtype.kind in "fc" else 0 * q, 2e-4)
    for ct, x in zip(received, primals, strict=True):
        assert (ct.shape, ct.dtype) == (x.shape, x.dtype)
    whole = [ct if np.asarray(ct).dtype.kind in "fc" else 0.0 for ct in cotangents]
    close(dot(whole, moved), dot(received, tangents), 2e-4)


@pytest.mark.rows("moving")
def test_derivatives_of_64_bit_arrays_outside_of_enable_x64(row):
    """An array that is made where 64-bit types are enabled keeps its width elsewhere, and so do its derivatives.

    Most rules trace to the same program in both places, whose numbers ``test_derivative`` checks.
    """
    for dtype in doubles(row):
        with x64(dtype):
            derive, arguments = derivatives_of_arrays(row, dtype)
            inside = xs.make_jaxpr(derive)(*arguments)
        outside = xs.make_jaxpr(derive)(*arguments)
        if str(outside) != str(inside):  # numbers are written in another way
            check_64_bit_derivatives(xs.jit(derive), derive, arguments, dtype)


@pytest.mark.slow
@pytest.mark.rows("moving")
def test_eager_derivatives_of_64_bit_arrays_outside_of_enable_x64(row):
    for dtype in doubles(row):
        with x64(dtype):
            derive, arguments = derivatives_of_arrays(row, dtype)
        check_64_bit_derivatives(derive, derive, arguments, dtype)


def check_64_bit_derivatives(found: Any, derive: Any, arguments: Any, dtype: str) -> None:
    """Compare what ``found`` gives for arguments, outside of ``enable_x64``, with what ``derive`` gives inside."""
    with x64(dtype):
        expected = xs.jit(derive)(*arguments)
    for y, wanted in zip(found(*arguments), expected, strict=True):
        assert y.dtype == wanted.dtype
        close(y, wanted, 1e-13)


def derivatives_of_arrays(row: Any, dtype: str) -> tuple[Callable[..., list[Any]], Any]:
    """Return a function that gives results, tangents and cotangents of a row, and its arguments on the device."""
    function, primals, tangents, cotangents = derivative_case(row, dtype)
    whole = [ct if np.asarray(ct).dtype.kind in "fc" else np.zeros(np.shape(ct)) for ct in cotangents]

    def derive(primals: Any, tangents: Any, cotangents: Any) -> list[Any]:
        results, moved = differentiate.jvp(function, primals, tangents)
        received = xs.vjp(function, *primals)[1](list(cotangents))
        return [*results, *(t for t in moved if t is not ZERO), *received]

    return derive, xs.tree.map(xs.numpy.asarray, (primals, tangents, whole))


def _double(values: Sequence[Any]) -> list[Any]:
    return [np.asarray(x).astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in values]


def _rebuilt(row: Any, dtype: str, moving: Sequence[Any]) -> list[Any]:
    rest = iter(moving)
    return [next(rest) if is_differentiable(x.dtype) else x for x in row.make(dtype)]


@pytest.mark.slow
@pytest.mark.rows("moving_twice")
def test_second_derivative(row):
    assert doubles(row)
    for dtype in doubles(row):
        with x64(dtype):
            check_second_derivative(*derivative_case(row, dtype))


def check_second_derivative(function: Any, primals: list[Any], tangents: list[Any], cotangents: list[Any]) -> None:
    pushed = xs.jit(lambda *values: push(function, values, tangents)[1])
    pulled = xs.jit(lambda *values: pull(function, values, cotangents))
    for first in (pushed, pulled):
        moved = xs.jit(lambda *values, f=first: push(f, values, tangents)[1])(*primals)
        for t, q in zip(moved, quotient(first, primals, tangents), strict=True):
            close(t, q, 2e-6)  # the quotient of a steep function (lgamma near a pole) is no better
    ones = [np.ones(x.shape, x.dtype)[()] for x in primals]
    received = xs.jit(lambda *values: pull(pulled, values, ones))(*primals)
    close(dot(received, tangents), dot(ones, push(pulled, primals, tangents)[1]), 1e-8)


# Transposes ---------------------------------------------------------------------------------------------------------


@pytest.mark.rows("linear")
def test_transpose(row):
    dtype = row.dtypes[0]
    operation, operands = row.operation(dtype), scalars(row.make(dtype))
    random = np.random.default_rng(5)
    zeros = [np.zeros_like(x)[()] for x in operands]
    for chosen in row.linear:
        moves = [k in chosen for k in range(len(operands))]
        at = [
            bind(operation, *(x if not m else z for x, z, m in zip(operands, base, moves, strict=True)))
            for base in (operands, zeros)
        ]
        change = [np.asarray(y) - np.asarray(y0) for y, y0 in zip(*at, strict=True)]
        if row.name == "scatter":  # linear in the operand when the updates are zeros, as its derivative makes them
            assert chosen == (0,)
        cotangents = [direction(random, y) for y in change]
        marked = [LinearInput(aval_of(x)) if m else x for x, m in zip(operands, moves, strict=True)]
        received = operation.transpose_rule(cotangents, marked)
        assert len(received) == len(operands)
        for ct, x, m in zip(received, operands, moves, strict=True):
            if not m:
                assert ct is None or ct is ZERO
            elif ct is not ZERO:
                assert (type_of(ct).shape, type_of(ct).dtype) == (x.shape, x.dtype)
        pairs = [(ct, x) for ct, x, m in zip(received, operands, moves, strict=True) if m and ct is not ZERO]
        tolerance = 2e-2 if "16" in dtype or any("16" in np.asarray(y).dtype.name for y in change) else 2e-5
        close(dot(cotangents, change), dot(*zip(*pairs, strict=True)) if pairs else 0.0, tolerance)


# Batching -----------------------------------------------------------------------------------------------------------

SIZE = 2


def check_batching(row: Any, axes_of: Callable[[int], Sequence[int]], table: Any) -> None:
    """The batch rule for every way of mapping operands against a loop over examples, all in one program."""
    dtype = row.dtypes[0]
    operation = row.operation(dtype)
    examples = [row.make(dtype, example) for example in range(SIZE)]
    count = len(examples[0])
    choices = [[None, *axes_of(x.ndim)] for x in examples[0]]
    combinations = [c for c in itertools.product(*choices) if any(axis is not None for axis in c)]
    if count > 2:  # all axes in front or all at the end
        combinations = [c for c in combinations if len({axis != 0 for axis in c if axis is not None}) == 1]
    if count > 3:  # one operand, or all
        combinations = [c for c in combinations if c.count(None) in (0, count - 1)]
    stacked = {
        (k, axis): np.stack([ex[k] for ex in examples], axis)
        for k in range(count)
        for axis in choices[k]
        if axis is not None
    }

    def everything(single: list[Any], batches: dict[Any, Any]) -> list[Any]:
        results = []
        for axes in combinations:
            operands = [single[k] if axis is None else batches[k, axis] for k, axis in enumerate(axes)]
            try:
                results.append(xs.vmap(lambda *values: bind(operation, *values), in_axes=axes)(*operands))
            except Exception as error:
                error.add_note(f"mapped over {axes}")
                raise
        return results

    found = xs.jit(everything)(examples[0], stacked)
    for axes, results in zip(combinations, found, strict=True):
        chosen = [[ex[k] if axis is not None else examples[0][k] for k, axis in enumerate(axes)] for ex in examples]
        loop = [bind(operation, *operands) for operands in chosen]
        for y, *parts in zip(results, *loop, strict=True):
            assert y.dtype == parts[0].dtype
            assert y.shape == (SIZE, *parts[0].shape), f"mapped over {axes}"
            close(y, np.stack(parts), table.TOLERANCE.get(dtype, 0) * row.tolerance, f"mapped over {axes}")


@pytest.mark.rows("mapped")
def test_batching(row, table):
    check_batching(row, lambda rank: (0, -1) if rank else (0,), table)


@pytest.mark.slow
@pytest.mark.rows("mapped")
def test_batching_over_every_axis(row, table):
    check_batching(row, lambda rank: range(rank + 1), table)


@pytest.mark.slow
@pytest.mark.rows("moving")
def test_batching_of_derivatives(row):
    dtype = row.single
    function, primals, _, cotangents = derivative_case(row, dtype)
    batch = [np.stack([x, x * 1.01]) for x in primals]
    pulled = xs.vmap(lambda *values: pull(function, values, cotangents))(*batch)
    for k in range(SIZE):
        for whole, one in zip(pulled, pull(function, [x[k] for x in batch], cotangents), strict=True):
            close(whole[k], one, 1e-4)


def test_programs_are_closed(table):
    assert all(isinstance(body, ClosedJaxpr) for row in table.ROWS for body in row.operation(row.dtypes[0]).bodies())
