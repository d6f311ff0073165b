"""What repeats becomes a loop: which, that results and derivatives stay what they are, and that names stay those of
each equation. It takes twenty seconds.
"""

import numpy as np
import pytest
from tests.core.control.repeating_programs import ROWS, by_chance

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, records, settings
from xlascope.analysis.costs.roofline import kernel_flops
from xlascope.control.loop_rerolling import program_rerolling
from xlascope.control.loop_rerolling.equation_arrays import EquationArrays
from xlascope.control.loop_rerolling.loop_detection import (
    OperandTable,
    _number_kinds,
    _number_kinds_with_operands,
)
from xlascope.control.loop_rerolling.normalized_steps import OperationTable, normalize_steps
from xlascope.control.loop_rerolling.program_rerolling import RerollRule, reroll_by_rule, reroll_program
from xlascope.control.loop_rerolling.repeated_regions import RepeatedRegions
from xlascope.ir.checker import check_jaxpr
from xlascope.records.op_names import equation_paths
from xlascope.transforms.evaluate import evaluate
from xlascope.xla.lowering.module_lowering import lower
from xlascope.xla.mlir.builder import bytecode
from xlascope.xla.mlir.stablehlo_reader import named_operations

#: What is lowered to nothing or to a constant, or not needed of what a stack has.
SILENT = ("slice", "squeeze", "random_wrap", "random_unwrap", "broadcast_in_dim")


#: Any repeat becomes a loop.
EVERYWHERE = RerollRule(lambda *_: True)


def traced(function, *arguments):
    return xs.jit(function).trace(*arguments).jaxpr


def loops_of(program):
    """How often what loops of a program repeat, and how many steps that is, the longest first; those within, too."""
    found, bodies = [], []
    for operation, *_ in program.jaxpr.raw:
        if operation.name == "repeated":
            found.append((operation.count, len(operation.jaxpr.jaxpr.raw)))
        bodies += operation.bodies() if operation.composite else ()
    found.sort(key=lambda each: -each[0] * each[1])
    return [*found, *(loop for body in bodies for loop in loops_of(body))]


@pytest.mark.parametrize("name", ROWS)
def test_results_are_the_same(name):
    function, arguments, loops = ROWS[name]
    program = traced(function, *arguments)
    made = reroll_by_rule(EVERYWHERE, program)
    assert loops_of(made) == loops if loops is not None else loops_of(made)
    check_jaxpr(made)
    operands = xs.tree_util.tree_leaves(arguments)
    wanted = xs.jit(lambda *given: evaluate(program, *given))(*operands)
    for found in (evaluate(made, *operands), xs.jit(lambda *given: evaluate(made, *given))(*operands)):
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype and one.weak_type == other.weak_type
            if not jnp.issubdtype(one.dtype, jnp.inexact):
                one, other = (jnp.asarray(random_words(each)) for each in (one, other))
                assert np.array_equal(one, other)
            else:
                tolerance = 3e-2 if one.dtype == jnp.bfloat16 else 2e-5
                np.testing.assert_allclose(*(np.asarray(x, np.float64) for x in (one, other)), tolerance, tolerance)


@pytest.mark.parametrize("seed", range(40))
def test_programs_by_chance_stay_what_they_are(seed):
    function, arguments = by_chance(seed)
    if seed % 4 == 3:
        function = xs.grad(lambda *given: sum(map(jnp.sum, xs.tree_util.tree_leaves(by_chance(seed)[0](*given)))))
    program = traced(function, *arguments)
    made = reroll_by_rule(EVERYWHERE, program)
    check_jaxpr(made)
    operands = xs.tree_util.tree_leaves(arguments)
    for one, other in zip(evaluate(made, *operands), evaluate(program, *operands), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), 1e-4, 1e-4)


def random_words(x):
    return xs.random.key_data(x) if jnp.issubdtype(x.dtype, xs.dtypes.prng_key) else x


@pytest.mark.parametrize("name", ROWS)
def test_each_equation_that_is_computed_is_named(name):
    function, arguments, _ = ROWS[name]
    program = traced(function, *arguments)
    computed = {step.number for step in normalize_steps(program.jaxpr).steps}
    made = reroll_by_rule(EVERYWHERE, program)
    named = {
        int(path.split("/")[0].rpartition(".")[2])
        for each in named_operations(bytecode(lower(made, "jit_f").module))
        for path in equation_paths(each.name)
    }
    silent = {n for n in computed if program.jaxpr.raw[n][0].name in SILENT}
    assert computed - silent <= named <= computed


def sines(x, count):
    for _ in range(count):
        x = jnp.sin(x)
    return x


#: Equations that are equal, or not needed, because of many others.
DEPENDENT = {
    "equal": lambda x, y: sines(x, 60) * sines(y, 3) + sines(x, 60) + sines(sines(x, 50) * sines(y, 3), 2),
    "equal later": lambda x, y: [(z := jnp.cos(x)) * 2.0, jnp.cos(x) + y, (z + y) * 2.0, (jnp.cos(x) + y) * 2.0],
    "not needed": lambda x, y: (sines(x, 60), sines(y, 2) + jnp.cos(y))[1] + sines(y, 3),
}


@pytest.mark.parametrize("seed", [*ROWS, *range(12), *DEPENDENT])
def test_arrays_of_equations_have_the_order_and_the_kinds_of_the_steps(seed):
    function, arguments = (DEPENDENT[seed], (X, X)) if seed in DEPENDENT else (ROWS.get(seed) or by_chance(seed))[:2]
    jaxpr = traced(function, *arguments).jaxpr
    steps, _, operations = normalize_steps(jaxpr)
    arrays = EquationArrays(jaxpr, OperationTable())
    assert [arrays.equations[n] for n in arrays.order] == [jaxpr.raw[step.number] for step in steps]
    kinds = _number_kinds(steps, operations)
    for found, wanted in (
        (arrays.kinds, kinds),
        (arrays.kinds_with_operands, _number_kinds_with_operands(steps, kinds, OperandTable(steps))),
    ):
        pairs = set(zip(found.tolist(), wanted, strict=True))
        assert len(set(found.tolist())) == len(set(wanted)) == len(pairs)


def test_kinds_do_not_depend_on_what_memory_held(monkeypatch):
    def function(w, x):
        y = jnp.sin(x) + jnp.sin(x)  # one of them is dropped
        for _ in range(3):
            y = jnp.tanh(y @ w)
        return y

    jaxpr = traced(function, X, X).jaxpr
    with monkeypatch.context() as patch:
        patch.setattr(np, "empty", lambda shape, dtype: np.full(shape, np.iinfo(np.int64).max, dtype))
        filled = EquationArrays(jaxpr, OperationTable()).kinds_with_operands
    assert filled.tolist() == EquationArrays(jaxpr, OperationTable()).kinds_with_operands.tolist()


def test_a_program_that_computes_nothing_stays_what_it_is():
    def function(x):
        for _ in range(10):
            jnp.sin(x)
        return x

    program = traced(function, X[0])
    assert len(program.jaxpr.raw) == 10
    assert [reroll_by_rule(EVERYWHERE, program), reroll_program(program, "auto")] == [program, program]


# Which are worth it -------------------------------------------------------------------------------------------------


def many_steps(w, x):
    for _ in range(120):
        x = jnp.tanh(x @ w) + x
    return x


def elementwise(x):
    for _ in range(120):
        x = jnp.sin(x) * 0.5 + x
    return x


def many_layers(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return jnp.sum(x)


def steps_of_layers(weights, x):
    for _ in range(12):
        for w in weights:
            x = jnp.tanh(x @ w) + x
    return x


def many_losses(w, x):
    total = 0.0
    for k in range(60):
        total = total + jnp.sum(jnp.tanh(jnp.tanh(0.1 * k * x @ w) @ w) ** 2)
    return total


def small_steps(x):
    for _ in range(120):
        x = jnp.sin(x - jnp.sum(x)) + jnp.sum(jnp.cos(x) * x)
    return x


def beside(x):
    return lax.fori_loop(0, 3, lambda _, x: x * 2, x)


def many_barriers(w, x):
    for _ in range(120):
        x = jnp.tanh(lax.optimization_barrier(x @ w)) + x
    return x


X = jnp.ones((128, 128))
#: A function, its arguments, and whether it becomes a loop where a call is to be no slower, and where compiling counts.
WORTH = {
    "many steps": (many_steps, (X, X), True, True),
    "one kernel": (elementwise, (X,), False, True),
    "steps of layers": (steps_of_layers, ([X] * 10, X), True, True),
    "side by side": (many_losses, (X, X), False, True),
    "a small loop": (small_steps, (X[0, :8],), False, True),
    "a loop beside another": (lambda x: (small_steps(x), beside(x)), (X[0],), False, True),
    "barriers": (many_barriers, (X, X), False, False),
    "layers with weights of their own": (xs.grad(many_layers), ([X] * 40, X), False, False),
    "few": (lambda w, x: jnp.tanh(jnp.tanh(x @ w) @ w), (X, X), False, False),
}


@pytest.mark.parametrize("name", WORTH)
def test_what_is_worth_it(name):
    function, arguments, without_loss, for_compiling = WORTH[name]
    arguments = xs.tree_util.tree_map(lambda x: x + 0, arguments)
    program = traced(function, *arguments)
    assert bool(loops_of(reroll_program(program, "auto"))) == without_loss
    assert bool(loops_of(reroll_program(program, "always"))) == for_compiling


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_what_is_not_looked_into_would_not_be_worth_it(mode):
    rule, loops = program_rerolling._RULES[mode], []
    thorough = RerollRule(rule.is_worth, rule.min_saved_equations)
    programs = [(many_steps, (X[:n, :n], X[:n, :n])) for n in (1, 4, 8, 16, 32, 48, 64, 96)]
    programs += [(elementwise, (jnp.ones(n),)) for n in (1, 10_000, 100_000, 1_000_000)]
    programs += [(steps_of_layers, ([X[:n, :n]] * k, X[:n, :n])) for n in (16, 128) for k in (2, 5)]
    programs += [(many_layers, ([X] * k, X)) for k in (60, 140, 160)]
    for function, arguments in programs:
        program = traced(function, *xs.tree_util.tree_map(lambda x: x + 0, arguments))
        loops.append(loops_of(reroll_by_rule(thorough, program)))
        assert loops_of(reroll_program(program, mode)) == loops[-1]
    assert any(loops) and not all(loops)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_states_that_are_joined_are_not_taken_one_by_one(axis):
    def states(w, x):
        found = []
        for _ in range(120):
            x = jnp.tanh(x @ w) + x
            found.append(x)
        return jnp.stack(found, axis), jnp.concatenate(found[3:], axis % 2)

    program = traced(states, X / 128, X[:3])
    made = reroll_program(program, "always")
    names = [operation.name for operation, *_ in made.jaxpr.raw]
    assert names.count("slice") == 1 and names.count("concatenate") == 0 and loops_of(made) == [(120, 3)]
    for one, other in zip(evaluate(made, X / 128, X[:3]), xs.jit(states)(X / 128, X[:3]), strict=True):
        np.testing.assert_allclose(one, other, 1e-5)


# As users meet it ---------------------------------------------------------------------------------------------------


def test_a_function_and_the_settings_say_whether():
    def loops(function):
        return function.lower(X, X).as_text().count("stablehlo.while")

    with settings.reroll("off"):
        assert loops(xs.jit(many_steps)) == 0
    assert loops(xs.jit(many_steps, reroll="auto")) == loops(xs.jit(many_steps, reroll="always")) == 1
    with settings.reroll("always"):
        assert loops(xs.jit(many_steps)) == 1
        assert loops(xs.jit(many_steps, reroll="off")) == 0
    with pytest.raises(ValueError, match="reroll is 'auto', 'always', 'off' or None, got True"):
        xs.jit(many_steps, reroll=True)


def test_a_setting_that_changes_compiles_anew():
    function = xs.jit(many_steps)
    first = function(X, X / 100)
    with settings.reroll("always"):
        seen = []
        with records.watch(seen.append):
            assert np.allclose(function(X, X / 100), first, rtol=1e-5)
    assert any(isinstance(each, records.Compiled) for each in seen)


def test_time_is_told_for_each_call():
    function = xs.jit(many_steps, reroll="always")
    found = xs.inspect.timings(function, X / 128, X)
    compiled = next(each for each in found.records if isinstance(each, records.Compiled))
    traced_ = next(each for each in found.records if isinstance(each, records.Traced))
    products = {each.path for each in traced_.jaxpr.walk() if each.operation == "dot_general"}
    assert len(products) == 120
    (kernel,) = (each for each in compiled.kernels if products & set(each.equations))
    assert products <= set(kernel.equations) and kernel.repeats == 120
    assert kernel_flops(compiled.kernels, traced_.jaxpr)[kernel.name] == pytest.approx(2 * 128**3)
    assert "dot_general ×120" in str(found) and "runs what is within" in str(found)


def test_what_stacks_copy_is_told():
    found = xs.inspect.fusions(xs.jit(xs.grad(_squared(recurrent)), reroll="always"), X / 128, jnp.stack([X] * 100))
    compiled, traced_ = (
        next(each for each in found.records if isinstance(each, kind)) for kind in (records.Compiled, records.Traced)
    )
    operations = {each.path: each.operation for each in traced_.jaxpr.walk()}
    copied = {operations[path] for kernel in compiled.kernels for path in kernel.moves}
    assert copied and copied <= {"tanh", "sub"}


def recurrent(w, inputs):
    h = inputs[0]
    for x in inputs:
        h = jnp.tanh(h @ w + x)
    return h


def _squared(function):
    return lambda *arguments: jnp.sum(function(*arguments) ** 2)


@pytest.mark.parametrize("name", ["steps", "its gradient", "side by side", "within a scan", "recurrent"])
def test_what_is_counted_is_what_all_repeats_cost(name, monkeypatch):
    function, arguments, _ = ROWS[name]
    counted = []
    monkeypatch.setitem(program_rerolling._RULES, "always", EVERYWHERE)
    for how in ("off", "always"):
        lowered = xs.jit(function, reroll=how).lower(*arguments)
        compiled = lowered.compile()
        counted.append([each.cost_analysis()["flops"] for each in (lowered, compiled)])
    assert counted[0][0] == counted[1][0]
    assert counted[1][1] == pytest.approx(counted[0][1], rel=0.2)  # counters, and what is fused otherwise


def test_effects_stay_in_their_order(capfd):
    def function(x):
        for k in range(6):
            xs.debug.print("{}", x[0], ordered=True)
            x = x * 2 + k
        return x

    assert not loops_of(reroll_by_rule(EVERYWHERE, traced(function, X[0])))
    xs.jit(function, reroll="always")(X[0]).block_until_ready()
    xs.effects_barrier()
    assert capfd.readouterr().out.split() == ["1.0", "2.0", "5.0", "12.0", "27.0", "58.0"]


def test_memory_may_be_given_away():
    function = xs.jit(many_steps, reroll="always", donate_argnums=1)
    x = X + 0
    assert np.allclose(function(X / 128, x), xs.jit(many_steps)(X / 128, X), rtol=1e-5)
    assert x.is_deleted()


def test_derivatives_of_a_rerolled_function_are_those_of_the_function():
    function = xs.jit(many_steps, reroll="always")
    wanted = xs.grad(lambda w: jnp.sum(many_steps(w, X)))(X / 128)
    assert np.allclose(xs.grad(lambda w: jnp.sum(function(w, X)))(X / 128), wanted, rtol=1e-4)


# Stretches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("elements", "found"),
    [
        ("", None),
        ("abcd", None),
        ("abab", (0, 4, 2)),
        ("xababay", (1, 6, 2)),
        ("aabaabaab", (0, 9, 3)),
        ("abcabcxyxyxy", (6, 12, 2)),
        ("ababxbaba", (0, 4, 2)),
    ],
)
def test_the_longest_stretch(elements, found):
    assert RepeatedRegions(elements).longest(0, len(elements)) == found


@pytest.mark.parametrize("seed", range(20))
def test_stretches_repeat_what_they_say(seed):
    elements = np.random.default_rng(seed).integers(0, 3, 200).tolist()
    known = RepeatedRegions(elements)
    for first, last in ((0, 200), (20, 170), (3, 60)):
        begin, end, period = known.longest(first, last)
        assert first <= begin <= end - 2 * period and end <= last
        assert elements[begin : end - period] == elements[begin + period : end]
