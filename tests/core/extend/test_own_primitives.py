"""Primitives and interpreters of one's own give what they give with jax; what is missing is named."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import core, lax
from xlascope.extend import operations
from xlascope.extend.core import Primitive, ShapedArray, primitives
from xlascope.interpreters import ad, batching, mlir

HERE = Path(__file__).with_name("own_primitives.py")
_spec = importlib.util.spec_from_file_location("extend_own_primitives", HERE)
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)


OURS = programs.Library(xs)
PLAIN = programs.plain(OURS)
CASES = [(name, case) for name, f in PLAIN.items() for case in programs.cases(OURS, name, f)]


@pytest.fixture(scope="module")
def ours():
    return {make.__name__: make(OURS) for make in programs.MAKERS}


def _same(found, wanted):
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_registered_primitive_is_transformed_like_what_it_stands_for(name, case, ours):
    wanted = programs.values(xs, programs.cases(OURS, name, PLAIN[name])[case])
    _same(programs.values(xs, programs.cases(OURS, name, ours[name])[case]), wanted)


def test_registrations_and_interpreters_give_what_they_give_with_jax(jax_says):
    for mine, theirs in zip(programs.said(xs), jax_says(HERE, "said"), strict=True):
        assert mine.keys() == theirs.keys()
        for key in theirs:
            _same(mine[key], theirs[key])


@pytest.mark.parametrize("name", programs.walks(xs))
def test_a_program_run_by_hand_is_the_function(name):
    function, x = programs.walks(xs)[name], jnp.asarray(programs.X)
    run = programs.by_hand(xs, function)
    _same(programs.values(xs, lambda: run(x)), programs.values(xs, lambda: function(x)))

    def total(f):
        return lambda x: sum(jnp.sum(y) for y in xs.tree_util.tree_leaves(f(x)))

    slope = xs.jit(lambda x: xs.jvp(total(run), (x,), (x,))[1])(x)
    np.testing.assert_allclose(slope, xs.jvp(total(function), (x,), (x,))[1], rtol=2e-5, atol=1e-5)
    if name != "a while":  # of which reverse mode does not know the number of steps
        slope = xs.jit(xs.grad(total(run)))(x)
        np.testing.assert_allclose(slope, xs.grad(total(function))(x), rtol=2e-5, atol=1e-5)


# What is missing ----------------------------------------------------------------------------------------------------


@pytest.fixture
def lonely():
    p = Primitive("lonely")
    p.def_abstract_eval(lambda x, **params: x)
    return p


MISSING = {
    "abstract evaluation": (
        lambda p: xs.make_jaxpr(Primitive("blank").bind)(1.0), r"blank has no abstract .*blank\.def_abstract_eval",
    ),
    "lowering": (lambda p: xs.jit(p.bind)(1.0), r"lonely has no lowering rule for .*register_lowering\(lonely"),
    "lowering outside of jit": (lambda p: p.bind(1.0), r"lonely has no lowering rule .*multiple_results=False"),
    "jvp": (lambda p: xs.grad(p.bind)(1.0), r"lonely has no jvp rule.*primitive_jvps\[lonely\]"),
    "batch": (lambda p: xs.vmap(p.bind)(jnp.ones(3)), r"lonely has no batching rule.*primitive_batchers\[lonely\]"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSING)
def test_a_missing_rule_is_named_with_the_way_to_register_it(case, lonely):
    run, message = MISSING[case]
    with pytest.raises(NotImplementedError, match=message):
        run(lonely)


def test_a_missing_transpose_is_named(lonely):
    ad.primitive_jvps[lonely] = lambda primals, tangents: (primals[0], lonely.bind(tangents[0]))
    with pytest.raises(NotImplementedError, match=r"lonely has no transpose rule.*primitive_transposes\[lonely\]"):
        xs.grad(lonely.bind)(1.0)


def test_a_transpose_rule_has_to_answer_for_each_operand(lonely):
    ad.deflinear(lonely, lambda ct: [ct, ct])
    mlir.register_lowering(lonely, mlir.lower_fun(lambda x: x, multiple_results=False))
    with pytest.raises(TypeError, match="lonely gave 2 cotangents for 1 operands"):
        xs.grad(lonely.bind)(1.0)


def test_parameters_are_hashable(lonely):
    with pytest.raises(TypeError, match=r"the parameter axes of lonely is a list.*Give a tuple"):
        lonely.bind(1.0, axes=[1])


@pytest.mark.parametrize(
    "register",
    [
        lambda: lax.sin_p.def_impl(np.sin),
        lambda: ad.primitive_jvps.__setitem__(lax.sin_p, lambda primals, tangents: None),
        lambda: batching.defvectorized(lax.sin_p),
        lambda: mlir.register_lowering(lax.sin_p, lambda context, x: [x]),
    ],
)
def test_rules_of_ours_are_not_replaced(register):
    with pytest.raises(TypeError, match="sin has its rules: they are methods of Sin"):
        register()


# What is there ------------------------------------------------------------------------------------------------------


def test_a_rule_can_be_registered_again(lonely):
    for factor in (2.0, 3.0):
        mlir.register_lowering(lonely, mlir.lower_fun(lambda x, f=factor: x * f, multiple_results=False))
        assert float(lonely.bind(1.0)) == factor
    lonely.def_impl(lambda x: x + 10.0)
    assert lonely.bind(1.0) == 11.0
    assert float(xs.jit(lonely.bind)(1.0)) == 3.0


def test_a_lowering_for_the_platform_goes_before_the_one_for_all(lonely):
    mlir.register_lowering(lonely, mlir.lower_fun(lambda x: x, multiple_results=False))
    mlir.register_lowering(lonely, mlir.lower_fun(lambda x: x * 2.0, multiple_results=False), platform="cpu")
    mlir.register_lowering(lonely, mlir.lower_fun(lambda x: x * 3.0, multiple_results=False), platform="cuda")
    assert float(xs.jit(lonely.bind)(1.0)) == {"cpu": 2.0, "gpu": 3.0}.get(xs.default_backend(), 1.0)


def test_lowerings_from_functions_may_call_functions_made_on_the_way():
    primitives_made = []
    for number in range(4):
        p = Primitive(f"calls_{number}")
        p.def_abstract_eval(lambda x: x)
        lowered = mlir.lower_fun(lambda x, n=number: xs.jit(lambda y: y * (n + 1.0))(x), multiple_results=False)
        mlir.register_lowering(p, lowered)
        primitives_made.append(p)

    @xs.jit
    def function(x):
        return [p.bind(x) for p in primitives_made for _ in range(3)]

    assert [float(y) for y in function(1.0)] == [n for n in (1.0, 2.0, 3.0, 4.0) for _ in range(3)]


def test_the_tables_are_tables(lonely):
    assert lonely not in ad.primitive_jvps
    ad.defjvp(lonely, lambda t, x: t)
    assert lonely in ad.primitive_jvps and lonely in list(ad.primitive_jvps) and callable(ad.primitive_jvps[lonely])
    count = len(ad.primitive_jvps)
    del ad.primitive_jvps[lonely]
    assert lonely not in ad.primitive_jvps and len(ad.primitive_jvps) == count - 1


def test_defbroadcasting_and_defreducer_find_the_axis():
    add = Primitive("my_add")
    add.def_abstract_eval(lambda x, y: ShapedArray(np.broadcast_shapes(x.shape, y.shape), x.dtype))
    mlir.register_lowering(add, mlir.lower_fun(lambda x, y: x + y, multiple_results=False))
    batching.defbroadcasting(add)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(xs.vmap(add.bind, (0, None))(x, x[0]), x + x[0])
    np.testing.assert_array_equal(xs.vmap(add.bind, (1, 0))(x, x[0]), x.T + x[0][:, None])
    largest = Primitive("my_max")
    largest.def_abstract_eval(
        lambda x, *, axes: ShapedArray([n for i, n in enumerate(x.shape) if i not in axes], x.dtype)
    )
    mlir.register_lowering(largest, mlir.lower_fun(lambda x, *, axes: jnp.max(x, axes), multiple_results=False))
    batching.defreducer(largest)
    z = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for axis in range(3):
        np.testing.assert_array_equal(
            xs.vmap(lambda x: largest.bind(x, axes=(0,)), axis)(z), np.moveaxis(z, axis, 0).max(1)
        )


def test_bind_of_ours_takes_the_parameters_that_equations_show():
    assert float(lax.integer_pow_p.bind(3.0, y=2)) == 9.0
    assert lax.sort_p.multiple_results and not lax.sin_p.multiple_results
    first = xs.make_jaxpr(xs.jit(jnp.sin))(1.0).eqns[0]
    assert first.primitive is primitives.jit_p and first.primitive.multiple_results
    (result,) = first.primitive.bind(1.0, **first.params)
    np.testing.assert_allclose(result, np.sin(1.0), rtol=1e-6)
    with pytest.raises(TypeError, match="integer_pow has no parameter z; it has y"):
        lax.integer_pow_p.bind(3.0, z=2)
    assert isinstance(lax.sin_p, Primitive)


def test_parameters_to_bind_unpack_as_in_earlier_versions_of_jax():
    params = lax.integer_pow_p.get_bind_params({"y": 2})
    functions, unpacked = params
    assert (functions, unpacked) == ([], {"y": 2})
    assert float(lax.integer_pow_p.bind(*functions, 3.0, **unpacked)) == 9.0
    assert float(lax.integer_pow_p.bind(3.0, **params)) == 9.0


def test_a_primitive_prints_in_programs_with_its_parameters():
    p = Primitive("shown")
    p.def_abstract_eval(lambda x, **params: x)
    text = str(xs.make_jaxpr(lambda x: p.bind(x, b=2, a="one", dtype=np.dtype("int8")))(1.0))
    assert text == "{ lambda ; a:f32[]. let b:f32[] = shown[a=one b=2 dtype=int8] a in (b,) }"


def test_types_of_batches_and_programs_inside():
    aval = ShapedArray((2, 3), np.float32)
    assert core.ShapedArray((3,), np.float32) is xs.extend.core.mapped_aval(2, 0, aval)
    assert xs.extend.core.unmapped_aval(5, 1, aval).shape == (2, 5, 3)
    closed = xs.make_jaxpr(lambda x: xs.jit(jnp.sin)(x) + xs.jit(jnp.cos)(x))(1.0)
    assert [str(inner.eqns[0].primitive) for inner in xs.extend.core.subjaxprs(closed.jaxpr)] == ["sin", "cos"]
    assert core.jaxpr_as_fun(closed, 0.0) == core.eval_jaxpr(closed.jaxpr, closed.consts, 0.0) == [1.0]
    core.check_jaxpr(closed)
    assert xs.extend.core.valid_jaxtype(1.0) and not xs.extend.core.valid_jaxtype("text")


def test_a_class_that_is_defined_again_replaces_the_first_but_another_may_not():
    source = """
class Twice(operations.Unary, name="test_twice"):
    hlo = "stablehlo.negate"
    def derivative(self, x, y, t): return -t
"""
    for _ in range(2):
        space = {"operations": operations, "__name__": "a_cell"}
        exec(source, space)
        assert float(operations.bind1(space["Twice"](), 2.0)) == -2.0
    with pytest.raises(TypeError, match="two operations are named test_twice"):
        exec(source, {"operations": operations, "__name__": "another_module"})
