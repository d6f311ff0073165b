"""Where derivatives jump, tie or meet infinities; what happens to operands that do not fit."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
from xlascope.control.programs.call import Call
from xlascope.dtypes import float0
from xlascope.ir.avals import shaped
from xlascope.ir.markers import ZERO, LinearInput
from xlascope.ir.operation import Operation
from xlascope.operations import arithmetic as a
from xlascope.operations import bits, cumulative, linear_algebra, sorting, special
from xlascope.operations import elementwise as e
from xlascope.operations import indexing as i
from xlascope.operations import reductions as r
from xlascope.operations import shapes as s
from xlascope.trace.bind import bind1

PROGRAMS = Path(__file__).with_name("gradients.py")
_SPEC = importlib.util.spec_from_file_location("gradients", PROGRAMS)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
GRADIENTS = _MODULE.GRADIENTS


class _Operations:
    """Our operations under the names of jax.lax."""

    def __getattr__(self, name):
        modules = (e, a, r, s, i, cumulative, special, bits, sorting)
        return next(getattr(module, name) for module in modules if hasattr(module, name))


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
        return s.reduce_sum(y, tuple(range(len(y.shape))))

    for ours, theirs in zip(
        xs.jit(xs.grad(total, tuple(range(len(operands)))))(*operands), gradients_of_jax[name], strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


def test_scatter_puts_one_of_the_updates_and_differentiates_what_it_put():
    numbers = i.ScatterDimensionNumbers((1,), (0,), (0,))
    at, rows = np.int32([[0], [2]]), np.float32([[1, 2], [3, 4]])

    def put(x, u):
        return s.reduce_sum(e.square(bind1(i.Scatter(numbers, "drop"), x, at, u)), (0, 1))

    for_x, for_u = xs.grad(put, (0, 1))(np.ones((3, 2), np.float32), rows)
    np.testing.assert_array_equal(for_x, [[0, 0], [2, 2], [0, 0]])
    np.testing.assert_array_equal(for_u, 2 * rows)


def test_zeta_is_differentiated_as_the_polygamma_function_that_it_is():
    q = np.float32([0.5, 1.5, 3.0])
    zeta = xs.grad(lambda q: s.reduce_sum(special.zeta(2.0, q), (0,)))(q)
    polygamma = xs.grad(lambda q: s.reduce_sum(special.polygamma(1.0, q), (0,)))(q)
    np.testing.assert_allclose(zeta, polygamma, rtol=1e-5)
    for first in (special.zeta, bits.nextafter):
        with pytest.raises(NotImplementedError, match="the derivative of"):
            xs.grad(lambda x, f=first: f(x, np.float32(2)))(2.5)


def test_nothing_moves_through_integers():
    value, moved = xs.jvp(
        lambda x, k: a.mul(x, e.convert_element_type(k, "float32")), (2.0, 3), (1.0, np.zeros((), float0))
    )
    assert (float(value), float(moved)) == (6.0, 3.0)
    _, pullback = xs.vjp(lambda k: a.add(k, 1), np.int32(3))
    (cotangent,) = pullback(np.zeros((), float0))
    assert cotangent.dtype == float0


def test_a_cotangent_that_is_zero_stays_zero_in_a_call():
    program = xs.make_jaxpr(lambda x, y: (e.neg(x), e.neg(y)))(1.0, 2.0)
    call = Call(program)
    one = shaped((), np.dtype("float32"))
    received = call.transpose_rule([ZERO, np.float32(2)], [LinearInput(one), LinearInput(one)])
    assert received[0] is ZERO
    assert float(received[1]) == -2.0


# Errors -------------------------------------------------------------------------------------------------------------


def f(*shape):
    return shaped(shape, np.dtype("float32"))


def n(*shape):
    return shaped(shape, np.dtype("int32"))


MATVEC = linear_algebra.DotGeneral((((1,), (0,)), ((), ())), None, None)
DOT = linear_algebra.DotGeneral((((0,), (0,)), ((), ())), None, None)
GATHER = i.Gather(i.GatherDimensionNumbers((1,), (0,), (0,)), (1, 2))
SCATTER = i.Scatter(i.ScatterDimensionNumbers((1,), (0,), (0,)), "drop")

ERRORS = {
    "add of shapes": (a.Add(), [f(2), f(3)], r"add .*\(2,\) and \(3,\)"),
    "add of ranks": (a.Add(), [f(2, 3), f(3)], r"add .*\(2, 3\) and \(3,\)"),
    "add of dtypes": (a.Add(), [f(2), n(2)], "add .*float32 and int32"),
    "and of floats": (a.And(), [f(2), f(2)], "and .*float32"),
    "sin of integers": (e.Sin(), [n(2)], "sin .*int32"),
    "not of floats": (e.Not(), [f(2)], "not .*float32"),
    "add_any": (s.AddAny(), [f(2), f(3)], "add_any"),
    "select by floats": (a.SelectN(), [f(2), f(2), f(2)], "select_n .*float32"),
    "select of three cases by truth": (a.SelectN(), [shaped((2,), np.dtype("bool")), f(2), f(2), f(2)], "select_n .*3"),
    "select of dtypes": (a.SelectN(), [shaped((2,), np.dtype("bool")), f(2), n(2)], "float32 and int32"),
    "clamp of shapes": (a.Clamp(), [f(3), f(2), f()], r"clamp .*\(2,\).*\(3,\)"),
    "clamp of dtypes": (a.Clamp(), [n(), f(2), f()], "clamp .*int32.*float32"),
    "broadcast": (s.BroadcastInDim((2, 3), (1,)), [f(2)], r"\(2,\).*\(2, 3\)"),
    "broadcast twice to one axis": (s.BroadcastInDim((2, 2), (0, 0)), [f(2, 2)], r"\(2, 2\)"),
    "reshape": (s.Reshape((4,)), [f(2, 3)], r"\(2, 3\).*\(4,\)"),
    "squeeze": (s.Squeeze((1,)), [f(1, 3)], r"axis 1 .*\(1, 3\)"),
    "transpose": (s.Transpose((0, 0)), [f(2, 3)], r"\(0, 0\).*\(2, 3\)"),
    "reduce_sum of an axis that is not there": (s.ReduceSum((2,)), [f(2, 3)], r"reduce_sum.*2.*\(2, 3\)"),
    "reduce_max of an axis that is not there": (r.ReduceMax((2,)), [f(2, 3)], r"reduce_max.*2.*\(2, 3\)"),
    "reduce_and of floats": (r.ReduceAnd((0,)), [f(2)], "reduce_and .*float32"),
    "argmax of nothing": (r.ArgMax((0,), np.dtype("int32")), [f(0, 2)], r"argmax.*axis 0.*\(0, 2\)"),
    "argmax of an axis that is not there": (r.ArgMax((2,), np.dtype("int32")), [f(2)], r"argmax.*2.*\(2,\)"),
    "cumsum of an axis that is not there": (r.CumSum(1, False), [f(2)], r"cumsum.*1.*\(2,\)"),
    "concatenate of shapes": (s.Concatenate(0), [f(2, 3), f(2, 4)], r"float32\[2,3\].*float32\[2,4\]"),
    "slice": (s.Slice((1,), (4,), None), [f(3)], r"\(1,\).*\(4,\).*\(3,\)"),
    "slice of another rank": (s.Slice((1,), (2,), None), [f(3, 3)], r"\(1,\).*\(2,\).*\(3, 3\)"),
    "pad": (s.Pad(((1, 1, 0),)), [f(3), f(1)], "pad"),
    "pad to less than nothing": (s.Pad(((-2, -2, 0),)), [f(3), f()], r"pad.*\(3,\)"),
    "rev of an axis that is not there": (s.Rev((1,)), [f(2)], r"rev.*1.*\(2,\)"),
    "dot_general of sizes": (MATVEC, [f(2, 3), f(4, 2)], "axis 1 .* axis 0 .* 3 and 4"),
    "dot_general of dtypes": (DOT, [f(2), n(2)], "float32 and int32"),
    "dynamic_slice": (i.DynamicSlice((4,)), [f(3), n()], r"\(4,\).*\(3,\)"),
    "dynamic_slice at floats": (i.DynamicSlice((2,)), [f(3), f()], "integer"),
    "dynamic_update_slice": (i.DynamicUpdateSlice(), [f(3), f(4), n()], r"float32\[4\].*float32\[3\]"),
    "gather by floats": (GATHER, [f(3, 2), f(4, 1)], "gather.*float32"),
    "scatter of dtypes": (SCATTER, [f(3, 2), n(4, 1), n(4, 2)], "scatter.*int32"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_operands_that_do_not_fit_are_named(name):
    operation, avals, message = ERRORS[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        operation.abstract_eval(avals)
    assert re.search(message, str(caught.value)), caught.value


def test_an_operation_without_a_rule_is_refused():
    class Half(Operation):
        def abstract_eval(self, operands):
            return list(operands)

    with pytest.raises(TypeError, match="lacks to_stablehlo, jvp, batch_rule"):
        type("Bad", (Half,), {}, name="bad")
