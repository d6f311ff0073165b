"""Where derivatives jump, tie or meet infinities; what happens to operands that do not fit."""

import importlib
import importlib.util
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
from xlascope import operations
from xlascope.control.programs.call import JitCall
from xlascope.dtypes import float0
from xlascope.ir.avals import make_aval
from xlascope.ir.markers import ZERO, LinearInput
from xlascope.ir.operation import Operation
from xlascope.operations import (
    arithmetic,
    bits,
    conversion,
    cumulative,
    dot_product,
    dynamic_slicing,
    exponentials,
    extreme_positions,
    extremes,
    indexing,
    reductions,
    selection,
    shapes,
    slicing,
    sorting,
    special,
    tangent_arithmetic,
    trigonometry,
)
from xlascope.trace.bind import bind1

FILES = sorted(Path(operations.__file__).parent.glob("[a-z]*.py"))
PROGRAMS = Path(__file__).with_name("gradients.py")
_SPEC = importlib.util.spec_from_file_location("gradients", PROGRAMS)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
GRADIENTS = _MODULE.GRADIENTS


MODULES = [importlib.import_module(f"xlascope.operations.{each.stem}") for each in FILES]


class _Operations:
    """Our operations under the names of jax.lax."""

    def __getattr__(self, name):
        return next(getattr(module, name) for module in MODULES if hasattr(module, name))


@pytest.fixture(scope="module")
def gradients_of_jax(jax_says):
    return jax_says(PROGRAMS, "gradients")


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_is_the_one_jax_gives(name, gradients_of_jax):
    text, *operands = GRADIENTS[name]
    function = eval(text, {"op": _Operations(), "np": np})
    operands = [np.asarray(x, np.float32) for x in operands]

    def total(*values):
        y = function(*values)
        return shapes.reduce_sum(y, tuple(range(len(y.shape))))

    for ours, theirs in zip(
        xs.jit(xs.grad(total, tuple(range(len(operands)))))(*operands), gradients_of_jax[name], strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


def test_scatter_puts_one_of_the_updates_and_differentiates_what_it_put():
    numbers = indexing.ScatterDimensionNumbers((1,), (0,), (0,))
    at, rows = np.int32([[0], [2]]), np.float32([[1, 2], [3, 4]])

    def put(x, u):
        return shapes.reduce_sum(arithmetic.square(bind1(indexing.Scatter(numbers, "drop"), x, at, u)), (0, 1))

    for_x, for_u = xs.grad(put, (0, 1))(np.ones((3, 2), np.float32), rows)
    np.testing.assert_array_equal(for_x, [[0, 0], [2, 2], [0, 0]])
    np.testing.assert_array_equal(for_u, 2 * rows)


def test_zeta_is_differentiated_as_the_polygamma_function_that_it_is():
    q = np.float32([0.5, 1.5, 3.0])
    zeta = xs.grad(lambda q: shapes.reduce_sum(special.zeta(2.0, q), (0,)))(q)
    polygamma = xs.grad(lambda q: shapes.reduce_sum(special.polygamma(1.0, q), (0,)))(q)
    np.testing.assert_allclose(zeta, polygamma, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="the derivative of"):
        xs.grad(lambda x: bits.nextafter(x, np.float32(2)))(2.5)


def test_nothing_moves_through_integers():
    value, moved = xs.jvp(
        lambda x, k: arithmetic.mul(x, conversion.convert_element_type(k, "float32")),
        (2.0, 3),
        (1.0, np.zeros((), float0)),
    )
    assert (float(value), float(moved)) == (6.0, 3.0)
    _, pullback = xs.vjp(lambda k: arithmetic.add(k, 1), np.int32(3))
    (cotangent,) = pullback(np.zeros((), float0))
    assert cotangent.dtype == float0


def test_a_cotangent_that_is_zero_stays_zero_in_a_call():
    program = xs.make_jaxpr(lambda x, y: (tangent_arithmetic.neg(x), tangent_arithmetic.neg(y)))(1.0, 2.0)
    call = JitCall(program)
    one = make_aval((), np.dtype("float32"))
    received = call.transpose_rule([ZERO, np.float32(2)], [LinearInput(one), LinearInput(one)])
    assert received[0] is ZERO
    assert float(received[1]) == -2.0


# Errors -------------------------------------------------------------------------------------------------------------


def f(*shape):
    return make_aval(shape, np.dtype("float32"))


def n(*shape):
    return make_aval(shape, np.dtype("int32"))


truth = make_aval((2,), np.dtype("bool"))
MATVEC = dot_product.DotGeneral((((1,), (0,)), ((), ())), None, None)
DOT = dot_product.DotGeneral((((0,), (0,)), ((), ())), None, None)
GATHER = indexing.Gather(indexing.GatherDimensionNumbers((1,), (0,), (0,)), (1, 2))
GATHER_ALL = indexing.Gather(indexing.GatherDimensionNumbers((1,), (0,), (0,)), (1, 9))
GATHER_ELSEWHERE = indexing.Gather(indexing.GatherDimensionNumbers((1,), (0,), (2,)), (1, 2))
FAR_DOT = dot_product.DotGeneral((((5,), (0,)), ((), ())), None, None)
LAME_DOT = dot_product.DotGeneral((((0, 1), (0,)), ((), ())), None, None)
TO_FLOAT = conversion.BitcastConvertType(np.dtype("float32"))
SCATTER = indexing.Scatter(indexing.ScatterDimensionNumbers((1,), (0,), (0,)), "drop")

ERRORS = {
    "add of shapes": (arithmetic.Add(), [f(2), f(3)], r"add .*\(2,\) and \(3,\)"),
    "add of ranks": (arithmetic.Add(), [f(2, 3), f(3)], r"add .*\(2, 3\) and \(3,\)"),
    "add of dtypes": (arithmetic.Add(), [f(2), n(2)], "add .*float32 and int32"),
    "and of floats": (bits.And(), [f(2), f(2)], "and .*float32"),
    "sin of integers": (trigonometry.Sin(), [n(2)], "sin .*int32"),
    "not of floats": (bits.Not(), [f(2)], "not .*float32"),
    "add_any": (tangent_arithmetic.AddAny(), [f(2), f(3)], "add_any"),
    "select by floats": (selection.SelectN(), [f(2), f(2), f(2)], "select_n .*float32"),
    "select of three cases by truth": (selection.SelectN(), [truth, f(2), f(2), f(2)], "select_n .*3"),
    "select of dtypes": (selection.SelectN(), [truth, f(2), n(2)], "float32 and int32"),
    "clamp of shapes": (extremes.Clamp(), [f(3), f(2), f()], r"clamp .*\(2,\).*\(3,\)"),
    "clamp of dtypes": (extremes.Clamp(), [n(), f(2), f()], "clamp .*int32.*float32"),
    "broadcast": (shapes.BroadcastInDim((2, 3), (1,)), [f(2)], r"\(2,\).*\(2, 3\)"),
    "broadcast twice to one axis": (shapes.BroadcastInDim((2, 2), (0, 0)), [f(2, 2)], r"\(2, 2\)"),
    "reshape": (shapes.Reshape((4,)), [f(2, 3)], r"\(2, 3\).*\(4,\)"),
    "squeeze": (shapes.Squeeze((1,)), [f(1, 3)], r"axis 1 .*\(1, 3\)"),
    "transpose": (shapes.Transpose((0, 0)), [f(2, 3)], r"\(0, 0\).*\(2, 3\)"),
    "reduce_sum of an axis that is not there": (shapes.ReduceSum((2,)), [f(2, 3)], r"reduce_sum.*2.*\(2, 3\)"),
    "reduce_max of an axis that is not there": (reductions.ReduceMax((2,)), [f(2, 3)], r"reduce_max.*2.*\(2, 3\)"),
    "reduce_and of floats": (reductions.ReduceAnd((0,)), [f(2)], "reduce_and .*float32"),
    "argmax of nothing": (extreme_positions.ArgMax((0,), np.dtype("int32")), [f(0, 2)], r"argmax.*axis 0.*\(0, 2\)"),
    "argmax of an axis that is not there": (
        extreme_positions.ArgMax((2,), np.dtype("int32")),
        [f(2)],
        r"argmax.*2.*\(2,\)",
    ),
    "cumsum of an axis that is not there": (cumulative.CumSum(1, False), [f(2)], r"cumsum.*1.*\(2,\)"),
    "concatenate of shapes": (slicing.Concatenate(0), [f(2, 3), f(2, 4)], r"f32\[2,3\].*f32\[2,4\]"),
    "slice": (slicing.Slice((1,), (4,), None), [f(3)], r"\(1,\).*\(4,\).*\(3,\)"),
    "slice of another rank": (slicing.Slice((1,), (2,), None), [f(3, 3)], r"\(1,\).*\(2,\).*\(3, 3\)"),
    "pad": (slicing.Pad(((1, 1, 0),)), [f(3), f(1)], "pad"),
    "pad to less than nothing": (slicing.Pad(((-2, -2, 0),)), [f(3), f()], r"pad.*\(3,\)"),
    "rev of an axis that is not there": (slicing.Rev((1,)), [f(2)], r"rev.*1.*\(2,\)"),
    "dot_general of sizes": (MATVEC, [f(2, 3), f(4, 2)], "axis 1 .* axis 0 .* 3 and 4"),
    "dot_general of dtypes": (DOT, [f(2), n(2)], "float32 and int32"),
    "dynamic_slice": (dynamic_slicing.DynamicSlice((4,)), [f(3), n()], r"\(4,\).*\(3,\)"),
    "dynamic_slice at floats": (dynamic_slicing.DynamicSlice((2,)), [f(3), f()], "integer"),
    "dynamic_update_slice": (dynamic_slicing.DynamicUpdateSlice(), [f(3), f(4), n()], r"float32\[4\].*float32\[3\]"),
    "gather by floats": (GATHER, [f(3, 2), f(4, 1)], "gather.*float32"),
    "abs of unsigned integers": (arithmetic.Abs(), [make_aval((2,), np.dtype("uint8"))], "abs .*signed integer.*uint8"),
    "cbrt of complex": (exponentials.Cbrt(), [make_aval((2,), np.dtype("complex64"))], "cbrt .*complex64"),
    "iota of truth": (shapes.Iota(np.dtype("bool"), (2,), 0), [], "iota .*bool"),
    "iota of no axis": (shapes.Iota(np.dtype("int32"), (2,), 1), [], r"iota along axis 1 .*\(2,\)"),
    "a negative size": (shapes.BroadcastInDim((-3,), ()), [f()], r"\(-3,\)"),
    "two negative sizes": (shapes.Reshape((-1, -6)), [f(2, 3)], r"\(-1, -6\)"),
    "an axis twice": (shapes.ReduceSum((0, 0)), [f(2, 3)], "reduce_sum .*twice"),
    "dot_general of an axis that is not there": (FAR_DOT, [f(2, 3), f(2, 3)], r"dot_general .*f32\[2,3\].*\(5,\)"),
    "dot_general of unlike numbers of axes": (LAME_DOT, [f(2, 3), f(2, 3)], "dot_general .*as many"),
    "slice with a stride of 0": (slicing.Slice((0,), (2,), (0,)), [f(3)], r"strides .*\(0,\)"),
    "pad with negative space between": (slicing.Pad(((0, 0, -1),)), [f(3), f()], "interior"),
    "dynamic_slice of another rank": (dynamic_slicing.DynamicSlice((1, 1)), [f(3), n()], r"\(1, 1\).*\(3,\)"),
    "argmax by floats": (extreme_positions.ArgMax((0,), np.dtype("float32")), [f(2)], "argmax.*index_dtype.*float32"),
    "sort without an axis": (sorting.Sort(0, True, 1), [f()], r"sort along axis 0 of shape \(\)"),
    "sort by too many keys": (sorting.Sort(0, True, 3), [f(2)], "num_keys .*3"),
    "bits of truth": (conversion.BitcastConvertType(np.dtype("uint8")), [truth], "bitcast_convert_type .*bool"),
    "bits that do not fill an element": (TO_FLOAT, [make_aval((3,), np.dtype("uint8"))], r"size 4, got shape \(3,\)"),
    "gather of a slice that is too large": (GATHER_ALL, [f(3, 2), n(4, 1)], r"\(1, 9\).*\(3, 2\)"),
    "gather along an axis that is not there": (GATHER_ELSEWHERE, [f(3, 2), n(4, 1)], r"start_index_map.*\(2,\)"),
    "gather at a scalar": (GATHER, [f(3, 2), n()], "coordinates"),
    "gather at too many coordinates": (GATHER, [f(3, 2), n(4, 2)], r"start_index_map.*\(4, 2\)"),
    "scatter of too large updates": (SCATTER, [f(3, 2), n(4, 1), f(4, 3)], r"updates of shape \(4, 3\)"),
    "scatter of too few updates": (SCATTER, [f(3, 2), n(4, 1), f(5, 2)], r"\(5, 2\).*\(4, 1\)"),
    "scatter of updates of another rank": (SCATTER, [f(3, 2), n(4, 1), f(4)], r"update_window_dims .*\(1,\)"),
    "scatter of dtypes": (SCATTER, [f(3, 2), n(4, 1), n(4, 2)], "scatter.*int32"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_operands_that_do_not_fit_are_named(name):
    operation, avals, message = ERRORS[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        operation.abstract_eval(avals)
    assert re.search(message, str(caught.value)), caught.value


@pytest.mark.parametrize("name", ["float6_e2m3fn", "complex32", "int1", "longdouble", "V4"])
def test_a_dtype_that_arrays_cannot_have_is_named(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    for use in (shapes.full, lambda _, x: conversion.convert_element_type(x, dtype)):
        with pytest.raises(TypeError, match=r"arrays cannot have dtype .*; they have one of: .*float32"):
            use((2,), np.zeros((), dtype) if use is shapes.full else np.float32(1))


@pytest.mark.parametrize("name", ["int2", "int4", "uint2", "uint4", "float4_e2m1fn"])
def test_packed_elements_are_moved_and_sorted(name):
    # over some of these XLA's CPU compiler aborts the process when it is given packed elements, and jax with it
    x = np.array([[1, 0, 3, 2], [0, 1, 1, 3]]).astype(np.dtype(getattr(ml_dtypes, name)))
    wide = x.astype(np.float32)
    for ours, wanted in [
        (slicing.concatenate([x, x], 1), np.concatenate([wide, wide], 1)),
        (slicing.rev(x, (1,)), wide[:, ::-1]),
        (sorting.sort([x], 1)[0], np.sort(wide, 1)),
        (extreme_positions.argmax(x, 1, "int32"), np.argmax(wide, 1)),
        (reductions.reduce_max(x, (0,)), wide.max(0)),
    ]:
        np.testing.assert_array_equal(np.asarray(ours).astype(np.float32), wanted)


def test_equal_results_of_a_custom_rule_keep_their_own_cotangents():
    @xs.custom_vjp
    def choose(a, b):
        return b

    choose.defvjp(lambda a, b: (b, None), lambda _, ct: (ct, 0.0 * ct))  # as surrogate gradients do
    weights = np.float32([1, 2, 3])
    moved = xs.grad(lambda a: shapes.reduce_sum(arithmetic.mul(xs.vmap(choose, (0, None))(a, 5.0), weights), (0,)))
    np.testing.assert_array_equal(moved(np.float32([7, 8, 9])), weights)


def test_an_operation_without_a_rule_is_refused():
    class Half(Operation):
        def abstract_eval(self, operands):
            return list(operands)

    with pytest.raises(TypeError, match="lacks to_stablehlo, jvp, batch_rule"):
        type("Bad", (Half,), {}, name="bad")


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int4"])
def test_integers_divided_by_a_zero_that_is_known_give_a_result(dtype):
    """XLA would divide them while it compiles, which ends the process (it does in jax)."""

    def divided():
        x, zero = xs.lax.full((2,), 3, dtype), xs.lax.full((2,), 0, dtype)
        return xs.lax.div(x, zero), xs.lax.rem(x, zero), xs.lax.div(x, xs.lax.full((2,), 2, dtype))

    quotient, remainder, usual = xs.jit(divided)()
    all_bits = 255 if dtype == "uint8" else -1
    assert [int(part[0]) for part in (quotient, remainder, usual)] == [all_bits, 3, 1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_whole_powers_of_two_are_exact(dtype):
    limits = ml_dtypes.finfo(dtype)
    exponents = np.arange(int(limits.minexp), int(limits.maxexp)).astype(float)
    others = np.array([0.5, -3.25, limits.maxexp - 0.25, np.inf, -np.inf, np.nan])
    with xs.enable_x64(True):
        for power in (exponentials.exp2, xs.jit(exponentials.exp2)):
            np.testing.assert_array_equal(power(exponents.astype(dtype)), np.exp2(exponents).astype(dtype))
            with np.errstate(over="ignore"):
                wanted = np.exp2(others.astype(dtype).astype(float)).astype(dtype)
            found = np.asarray(power(others.astype(dtype)))
            np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=2 * float(limits.eps))
