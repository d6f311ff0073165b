"""One thing changed: what the comparison says, checked against compiling the changed function by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.inspect.engine.traced_calls import trace_call
from xlascope.ir.checker import check_jaxpr
from xlascope.records import Compiled, Traced
from xlascope.transforms.barrier_insertion import split_program
from xlascope.transforms.evaluate import evaluate

needs_compilers = pytest.mark.usefixtures("target_compilers")
X = np.linspace(0.1, 1.0, 1000, dtype=np.float32)


def chain(x: Any) -> Any:
    return jnp.tanh(x + 1.0) * 2.0 + x


def sides(found: inspect.Comparison, kind: type[Any]) -> tuple[Any, Any]:
    before, after = (
        next(each for each in side if isinstance(each, kind)) for side in (found.diff.before, found.diff.after)
    )
    return before, after


def kernels(compiled: Compiled) -> list[tuple[str, ...]]:
    return [kernel.equations for kernel in compiled.kernels]


# Split here -----------------------------------------------------------------------------------------------------------


def test_a_split_makes_two_kernels_of_one() -> None:
    found = inspect.what_if(chain, X, change={"split": ("1", "2")}, timings=False)
    before, after = sides(found, Compiled)
    assert kernels(before) == [("0", "1", "2", "3")]
    assert kernels(after) == [("0", "1"), ("3", "4")]  # equation 2 is the barrier
    assert [change.sign for change in found.diff.equations] == ["=", "=", "+", "~", "="]
    assert "told not to (xla_disable_hlo_passes=cse_barrier_expander)" in found.text


@needs_compilers
@pytest.mark.parametrize("target", ["gpu:h100", "tpu:v5e"])
def test_a_split_makes_two_kernels_of_one_elsewhere(target: str) -> None:
    found = inspect.what_if(chain, np.ones((512, 512), np.float32), change={"split": ("1", "2")}, target=target)
    fusions = [[k.equations for k in side.kernels if k.opcode == "fusion"] for side in sides(found, Compiled)]
    assert fusions == [[("0", "1", "2", "3")], [("0", "1"), ("3", "4")]]
    assert found.diff.timing is None
    assert {number.name for number in found.diff.numbers} >= {"one run at least", "memory at peak"}


def nested(x: Any) -> Any:
    inner = xs.jit(lambda y: jnp.exp(jnp.sin(y)) * 3.0)
    return inner(x) + inner(x + 1.0)


def looping(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * 2.0 + jnp.cos(y), x)


def branching(x: Any) -> Any:
    return lax.cond(x[0] > 0.5, lambda y: jnp.sin(y) * 2.0, lambda y: jnp.cos(y) * 3.0, x)


def gradient(x: Any) -> Any:
    return xs.grad(lambda y: jnp.sum(jnp.tanh(jnp.sin(y)) ** 2))(x)


SPLITS = [
    (chain, "0", "1"),
    (chain, "0", "3"),  # by way of others
    (chain, "3", "0"),  # the order does not matter
    (nested, "0/0", "0/1"),
    (nested, "0", "3"),
    (nested, "0/2", "3"),  # from within a call to after it
    (gradient, "0", "2"),
]


@pytest.mark.parametrize(("function", "first", "second"), SPLITS)
def test_a_split_program_is_well_formed_and_computes_the_same(
    function: Callable[..., Any], first: str, second: str
) -> None:
    program = trace_call(function, (X,), {}).traced.program
    made = split_program(program, first, second)
    check_jaxpr(made)
    assert repr(made).count("optimization_barrier") == repr(program).count("optimization_barrier") + 1
    np.testing.assert_array_equal(evaluate(made, X)[0], evaluate(program, X)[0])
    assert repr(program) == repr(trace_call(function, (X,), {}).traced.program)  # the function's own is untouched


@pytest.mark.parametrize("function", [looping, branching])
def test_inside_of_loops_and_branches(function: Callable[..., Any]) -> None:
    program = trace_call(function, (X,), {}).traced.program
    holder = next(i for i, eqn in enumerate(program.eqns) if eqn.operation.bodies())
    bodies = program.eqns[holder].operation.bodies()
    number = len(bodies) - 1
    names = [eqn.operation.name for eqn in bodies[number].eqns]
    pair = next((i for i in range(len(names) - 1) if names[i] in ("sin", "cos")), None)
    assert pair is not None
    segment = f"{number}." if number else ""
    made = split_program(program, f"{holder}/{segment}{pair}", f"{holder}/{segment}{names.index('mul')}")
    check_jaxpr(made)
    np.testing.assert_array_equal(evaluate(made, X)[0], evaluate(program, X)[0])


WRONG_SPLITS = [
    (chain, ("1", "9"), "the program has no equation 9"),
    (chain, ("1", "1"), "one is in the other"),
    (nested, ("0", "0/1"), "one is in the other"),
    (chain, ("one", "2"), "'one' is no path of an equation"),
    (chain, ("1/0", "2"), "the program has no equation 1/0"),
    (lambda x: jnp.sin(x) + jnp.cos(x), ("0", "1"), "nothing passes between equations 0 and 1"),
    (branching, ("2/0", "2/1.0"), "different branches|no equation"),
]


@pytest.mark.parametrize(("function", "paths", "message"), WRONG_SPLITS)
def test_a_split_that_cannot_be_made(function: Callable[..., Any], paths: tuple[str, str], message: str) -> None:
    with pytest.raises(inspect.ChangeError, match=message):
        inspect.what_if(function, X, change={"split": paths}, timings=False)


# The others -----------------------------------------------------------------------------------------------------------


def product(w: Any, x: Any) -> Any:
    return jnp.tanh(x @ w)


W, BATCH = np.ones((16, 8), np.float32), np.ones((32, 16), np.float32)


def test_dtype_turns_every_floating_argument() -> None:
    found = inspect.what_if(lambda p, i: p["w"] * p["s"] + i, {"w": X, "s": 2.0}, 1, change={"dtype": "bfloat16"})
    before, after = sides(found, Traced)
    types = [[side.jaxpr.variables[name].dtype for name in side.jaxpr.inputs] for side in (before, after)]
    assert types == [["float32", "float32", "int32"], ["float32", "bfloat16", "int32"]]  # Python's numbers stay
    assert found.diff.timing is not None


@pytest.mark.parametrize("argument", ["x", 1])
def test_batch_changes_leading_axes(argument: str | int) -> None:
    found = inspect.what_if(product, W, BATCH, change={"batch": {argument: 8}}, timings=False)
    before, after = sides(found, Traced)
    assert [side.jaxpr.variables[side.jaxpr.inputs[1]].shape for side in (before, after)] == [(32, 16), (8, 16)]


def test_batch_of_a_keyword_and_of_shapes() -> None:
    shape = xs.ShapeDtypeStruct((32, 16), np.float32)
    found = inspect.what_if(inspect.call(product, W, x=shape), change={"batch": {"x": 4}})
    assert sides(found, Traced)[1].jaxpr.variables["b"].shape == (4, 16)
    assert "not measured: there are shapes and no values among the arguments" in found.text


def test_precision_reaches_the_products() -> None:
    found = inspect.what_if(product, W, BATCH, change={"precision": "highest"}, timings=False)
    before, after = sides(found, Traced)
    assert "HIGHEST" not in before.text and "HIGHEST" in after.text


def test_donation_reaches_the_compiler() -> None:
    found = inspect.what_if(chain, X, change={"donate": 0})
    before, after = sides(found, Compiled)
    assert "input_output_alias" not in before.hlo and "input_output_alias" in after.hlo
    assert "not measured: a donated argument is gone after a call" in found.text


def test_options_reach_xla_and_keep_those_there_are() -> None:
    options = {"xla_backend_optimization_level": 0}
    jitted = xs.jit(chain, compiler_options={"xla_cpu_enable_fast_math": True})
    found = inspect.what_if(jitted, X, change={"options": options}, timings=False)
    assert sides(found, Compiled)[0].hlo  # both compile
    plain = inspect.what_if(chain, X, change={"options": {"xla_disable_hlo_passes": "fusion"}}, timings=False)
    before, after = sides(plain, Compiled)
    assert len(before.kernels) == 1 < len(after.kernels)


def test_both_are_measured() -> None:
    found = inspect.what_if(product, W, BATCH, change={"batch": {"x": 4096}})
    assert found.diff.timing is not None
    assert "per call (median" in found.text


def test_in_the_background() -> None:
    job = inspect.what_if(chain, X, change={"batch": {"x": 10}}, timings=False, background=True)
    assert sides(job.result(60), Traced)[1].jaxpr.variables["a"].shape == (10,)


def test_the_function_itself_is_untouched() -> None:
    jitted = xs.jit(chain)
    before = np.asarray(jitted(X))
    for change in (
        {"split": ("0", "1")},
        {"donate": 0},
        {"dtype": "bfloat16"},
        {"options": {"xla_dump_max_hlo_modules": 1}},
    ):
        inspect.what_if(jitted, X, change=change, timings=False)
    np.testing.assert_array_equal(jitted(X), before)
    assert jitted._cache_size() == 1


WRONG = [
    ({}, "change is one of"),
    ({"split": ("0", "1"), "donate": 0}, "change is one of"),
    ({"nonsense": 1}, "change is one of .*'split'"),
    ("split", "change is one of"),
    ({"split": "0,1"}, "takes the paths of two equations"),
    ({"dtype": "int32"}, "floating-point"),
    ({"dtype": "nonsense"}, "nonsense"),
    ({"dtype": "float64"}, "be float64 while 64-bit types are off"),
    ({"donate": 3}, r"no argument 3; it has 0 \(x\)"),
    ({"batch": {"z": 3}}, "no argument 'z'; it has x"),
    ({"batch": 3}, "leading axes by argument"),
    ({"precision": "nonsense"}, "precision"),
    ({"options": {}}, "XLA's flags by name"),
    ({"options": {"xla_nonsense": 1}}, "No such compile option: 'xla_nonsense'"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_change_that_is_none(change: Any, message: str) -> None:
    with pytest.raises(inspect.ChangeError, match=message):
        inspect.what_if(chain, X, change=change, timings=False)


def test_what_the_function_raises_is_its_own() -> None:
    with pytest.raises(TypeError, match="matmul"):
        inspect.what_if(product, W, BATCH, change={"batch": {"w": 3}}, timings=False)
