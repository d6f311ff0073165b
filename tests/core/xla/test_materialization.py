"""What is kept of a program's values: which, that results are the same, and that the model's picture of XLA is right.

On two quiet cores it takes half a minute.
"""

import json
from collections import Counter

import numpy as np
import pytest
from tests.changes_of_jax import made
from tests.core.xla import kept_programs as programs
from tests.core.xla.fusion_by_kernel import random_graph, simulate_by_kernel, unfusible_by_path

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, records, settings
from xlascope.records.op_names import equation_path
from xlascope.xla.lowering.module_lowering import lower
from xlascope.xla.materialization import disable_passes
from xlascope.xla.materialization.fusion_model import is_single_kernel, simulate_fusion
from xlascope.xla.materialization.globally_unfusible import compute_globally_unfusible
from xlascope.xla.materialization.graph import build_graphs, full_op_name
from xlascope.xla.materialization.log_reader import build_graphs_from_log


@pytest.fixture(autouse=True)
def automatic():
    """Keep what the model finds worth it, where nothing else is said."""
    with settings.keep("auto"):
        yield


# Which --------------------------------------------------------------------------------------------------------------

#: A program, and how many of its equations' results are kept.
ROWS = {
    "a step of eight layers": (programs.layers(8), 6),
    "in a loop": (programs.layers_in_a_loop(8), 6),
    "in a branch": (programs.layers_of_a_branch(8), 6),
    "two layers": (programs.layers(2), 0),
    "layers of sequences": (programs.layers_of_sequences(6), 16),
    "checkpointed": (programs.checkpointed(8), 0),
    "attention": (programs.attention(), 0),
    "a chain": (programs.chain(), 0),
    "a perceptron": (programs.perceptron(), 0),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_is_kept(name):
    (function, arguments), count = ROWS[name]
    kept = inspected(function, arguments).kept
    assert len(kept) == count
    text = xs.jit(function).lower(*arguments).as_text()
    assert (text.count("optimization_barrier") > 0) == (count > 0 or name == "checkpointed")


def inspected(function, arguments, **options):
    found = xs.inspect.fusions(xs.jit(function, **options), *arguments)
    return next(each for each in found.records if isinstance(each, records.Compiled))


def test_what_is_kept_is_what_layers_hand_on():
    function, arguments = programs.layers(8)
    found = xs.inspect.fusions(function, *arguments)
    traced, compiled = found.records[0], inspected(function, arguments)
    operations = {each.path: each.operation for each in traced.jaxpr.walk()}
    assert {operations[path] for path in compiled.kept} == {"add_any"}
    assert "6 results are kept in memory, which XLA would compute again in several kernels: equations" in str(found)


def test_it_is_told_in_how_many_kernels_each_would_be_computed():
    function, arguments = programs.layers(8)
    told = str(xs.inspect.kept(function, *arguments)).splitlines()
    assert told[0] == "step: 6 results are kept of 407 equations, otherwise computed in so many kernels each:"
    assert [line.split()[0] for line in told[1:]] == ["7", "6", "5", "4", "3", "2"]
    assert all("add_any f32[64,32], kept_programs.py:" in line for line in told[1:])
    compiled = inspected(function, arguments, keep="off")
    kept = [line.split()[2] for line in told[1:]]
    real = [sum(path in kernel.equations for kernel in compiled.kernels) for path in kept]
    assert real == [7, 6, 5, 4, 3, 2]


@pytest.mark.parametrize(
    ("keep", "said"),
    [("off", "kept that would be computed again (407 equations): keep is 'off'"), ("auto", "6 results")],
)
def test_it_is_told_why_nothing_is_kept(keep, said):
    function, arguments = programs.layers(8)
    assert said in str(xs.inspect.kept(xs.jit(function, keep=keep), *arguments))


def test_the_record_is_written_and_read_back_and_old_ones_are_read():
    compiled = inspected(*programs.layers(8))
    data = json.loads(json.dumps(records.to_json(compiled)))
    assert records.from_json(data) == compiled
    del data["kept"]
    assert records.from_json(data).kept == ()


# Results ------------------------------------------------------------------------------------------------------------

SAME = {
    "a step": programs.layers(8),
    "in a loop": programs.layers_in_a_loop(8),
    "in a branch": programs.layers_of_a_branch(8),
    "by a function": programs.layers_by_a_function(8),
    "checkpointed": programs.checkpointed(4),
}


@pytest.mark.parametrize("name", SAME)
def test_results_are_the_same_and_less_is_computed(name):
    function, arguments = SAME[name]
    everything = lambda primitive, *_, **__: primitive.name in ("add", "mul", "add_any", "tanh")  # noqa: E731
    off, auto, policy = (xs.jit(function, keep=keep) for keep in ("off", "auto", everything))
    wanted = xs.tree_util.tree_leaves(off(*arguments))
    for other in (auto, policy):
        for one, two in zip(xs.tree_util.tree_leaves(other(*arguments)), wanted, strict=True):
            np.testing.assert_allclose(one, two, rtol=2e-5, atol=1e-6)
    if name != "checkpointed":
        before, after = (len(inspected(function, arguments, keep=keep).hlo) for keep in ("off", "auto"))
        assert after < 0.9 * before or name == "by a function"


def test_donated_memory_is_still_given_away():
    function, (weights, x) = programs.layers(8)
    given = xs.jit(function, donate_argnums=0, keep="auto")
    wanted = xs.jit(function, keep="off")(weights, x)
    mine = xs.tree_util.tree_map(jnp.asarray, weights)
    results = given(mine, x)
    assert all(each.is_deleted() for each in xs.tree_util.tree_leaves(mine))
    for one, two in zip(xs.tree_util.tree_leaves(results), xs.tree_util.tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(one, two, rtol=2e-5, atol=2e-7)
    memory = given.lower(weights, x).compile().memory_analysis()
    assert memory.alias_size_in_bytes == memory.output_size_in_bytes - 8 * len(xs.tree_util.tree_leaves(weights))


def test_derivatives_and_batches_of_what_keeps_are_those_of_the_function():
    function, (weights, x) = programs.layers(8)
    keeping = xs.jit(function, keep="auto")

    def loss(f):
        return lambda x: sum(jnp.sum(leaf) for leaf in xs.tree_util.tree_leaves(f(weights, x)))

    np.testing.assert_allclose(xs.grad(loss(keeping))(x), xs.grad(loss(function))(x), rtol=2e-4, atol=1e-6)
    many = np.stack([x, 2 * x])
    for one, two in zip(
        xs.tree_util.tree_leaves(xs.vmap(keeping, in_axes=(None, 0))(weights, many)),
        xs.tree_util.tree_leaves(xs.vmap(function, in_axes=(None, 0))(weights, many)),
        strict=True,
    ):
        np.testing.assert_allclose(one, two, rtol=2e-4, atol=1e-6)


# Who says so ----------------------------------------------------------------------------------------------------------


def test_the_setting_counts_where_the_function_says_nothing_and_another_program_is_compiled():
    function, arguments = programs.layers(8)
    f = xs.jit(function)
    seen = []
    with records.watch(seen.append):
        f(*arguments)
        with settings.keep("off"):
            f(*arguments)
            xs.jit(function, keep="auto").lower(*arguments).compile()
        f(*arguments)
    compiled = [each for each in seen if isinstance(each, records.Compiled)]
    assert [len(each.kept) for each in compiled] == [6, 0, 6]


def test_a_policy_chooses_equations_by_name_in_functions_and_loops_too():
    def step(x):
        return jnp.sin(xs.ad_checkpoint.checkpoint_name(jnp.exp(x), "exponentials"))

    def function(x):
        x, _ = lax.scan(lambda x, _: (step(x), None), xs.jit(step)(x), None, 3)
        return x

    policy, x = xs.checkpoint_policies.save_only_these_names("exponentials"), jnp.ones(2000)
    kept = inspected(function, (x,), keep=policy).kept
    assert kept == ("0/0", "1/0")
    np.testing.assert_allclose(xs.jit(function, keep=policy)(x), xs.jit(function, keep="off")(x), rtol=1e-6)


def test_what_says_nothing_of_the_kind_is_refused():
    with pytest.raises(ValueError, match=r"keep is 'auto', 'off', a policy .* got 'always'"):
        xs.jit(jnp.sin, keep="always")


# Barriers of users ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("keep", "kernels"), [("auto", 2), ("off", 2 if made("barriers separate kernels") else 1)])
def test_a_barrier_of_the_users_separates_kernels(keep, kernels):
    def function(x):
        return jnp.cos(lax.optimization_barrier(jnp.sin(x) * 2.0)) + 1.0

    assert len(inspected(function, (jnp.ones(100),), keep=keep).kernels) == kernels


@pytest.mark.parametrize("size", [4, 4000])
@pytest.mark.parametrize("place", programs.BARRIERS)
def test_barriers_are_where_xla_can_have_them(place, size):
    """A program that XLA cannot compile with them would end the process."""
    function = programs.BARRIERS[place]
    x = jnp.linspace(0.1, 1.0, size)
    seen = []
    with records.watch(seen.append):
        results = xs.jit(function, keep="auto")(x)
    np.testing.assert_allclose(results, xs.jit(function, keep="off")(x), rtol=1e-5)
    assert not [each for each in seen if isinstance(each, records.Failure)]
    text = next(each.hlo for each in seen if isinstance(each, records.Compiled))
    can_stay = place not in programs.FOR_ELEMENTS and (place not in programs.IN_LOOPS or size == 4000)
    assert ("opt-barrier" in text) == can_stay


def test_checkpoint_saves_memory_because_its_barriers_stay():
    function, arguments = programs.checkpointed(8)
    sizes = [
        xs.jit(function, keep=keep).lower(*arguments).compile().memory_analysis().temp_size_in_bytes
        for keep in ("auto", "off")
    ]
    most = 1.1 if made("barriers separate kernels") else 0.7
    assert sizes[0] < most * sizes[1]


@pytest.mark.parametrize(
    ("flags", "options", "passes"),
    [
        ("", {}, "cse_barrier_expander"),
        ("", {"xla_disable_hlo_passes": "dce"}, "dce,cse_barrier_expander"),
        ("--xla_disable_hlo_passes=dce,cse --xla_x=1", {}, "dce,cse,cse_barrier_expander"),
        ("--xla_disable_hlo_passes=cse", {"xla_disable_hlo_passes": "dce"}, "dce,cse_barrier_expander"),
        ("", {"xla_disable_hlo_passes": "cse_barrier_expander"}, "cse_barrier_expander"),
    ],
)
def test_passes_that_the_user_leaves_out_are_left_out_still(monkeypatch, flags, options, passes):
    monkeypatch.setenv("XLA_FLAGS", flags)
    found = dict(disable_passes([("xla_other", True), *options.items()], ["cse_barrier_expander"]))
    assert found == {"xla_other": True, "xla_disable_hlo_passes": passes}


def test_a_checkpoint_in_the_smallest_loop_does_not_end_the_process():
    def last(x):
        return lax.scan(lambda c, _: (xs.checkpoint(lambda y: jnp.sin(y) * 2.0)(c), c), x, None, length=2)[0]

    x = jnp.asarray([0.1, 0.2, 0.3])
    gradient = xs.grad(lambda x: last(x).sum())
    np.testing.assert_allclose(xs.jit(gradient)(x), xs.jit(gradient, keep="off")(x), rtol=1e-6)


# The model and XLA ----------------------------------------------------------------------------------------------------

#: A program, and for which part of its equations the model says in how many kernels XLA computes them.
PREDICTED = {
    "a step of eight layers": (programs.layers(8), 0.9),
    "attention": (programs.attention(), 0.7),
    "a chain": (programs.chain(), 0.9),
    "a perceptron": (programs.perceptron(), 0.9),
    "layers by a function": (programs.layers_by_a_function(8), 0.9),
    "layers of sequences": (programs.layers_of_sequences(6), 0.9),
    "convolutions": (programs.convolved(4), 0.8),
}


@pytest.mark.parametrize("name", PREDICTED)
def test_kernels_of_each_equation_are_those_of_xla(name):
    (function, arguments), part = PREDICTED[name]
    found = xs.inspect.fusions(xs.jit(function, keep="off"), *arguments)
    compiled = next(each for each in found.records if isinstance(each, records.Compiled))
    real = Counter(path for kernel in compiled.kernels for path in kernel.equations)
    predicted = Counter()
    module = xs.jit(function, keep="off").lower(*arguments).compiler_ir()
    for graph in build_graphs(module):
        for kernel in simulate_fusion(graph).kernels():
            made = map(graph.defining_op, kernel.computed)
            predicted.update({equation_path(full_op_name(each)) for each in made if each is not None})
    both = [path for path in real if path in predicted]
    right = sum(abs(real[path] - predicted[path]) <= 0.2 * real[path] for path in both)
    assert len(both) >= 0.9 * len(real)
    assert right >= part * len(both)


# In the last two it matters that users of their own move what is needed at other indices in each kernel.
@pytest.mark.parametrize("seed", [*range(120), 639, 943])
def test_kernels_are_those_of_the_simulation_kernel_by_kernel(seed):
    graph = random_graph(seed)
    outcome = simulate_fusion(graph)
    assert in_order(outcome.kernels()) == in_order(simulate_by_kernel(graph))
    materialized = frozenset(range(seed % 5, len(graph), 7))
    for known in (None, outcome):
        assert in_order(simulate_fusion(graph, materialized, known).kernels()) == in_order(
            simulate_by_kernel(graph, materialized)
        )


@pytest.mark.parametrize("seed", range(120))
def test_values_left_in_memory_are_those_found_step_by_step(seed):
    graph = random_graph(seed)
    for materialized in (frozenset(), frozenset(range(seed % 5, len(graph), 7))):
        assert compute_globally_unfusible(graph, materialized) == unfusible_by_path(graph, materialized)


def in_order(kernels):
    return [(kernel.root, sorted(kernel.computed), sorted(kernel.read)) for kernel in kernels]


def test_a_single_kernel_is_one():
    singles = [
        graph for graph in (random_graph(seed, elementwise=True) for seed in range(400)) if is_single_kernel(graph)
    ]
    assert len(singles) > 40
    for graph in singles:
        (kernel,) = simulate_by_kernel(graph)
        assert len(kernel.computed) == len(set(kernel.computed))


def calls_of_one_function(x, y):
    """Call a function with different arguments, with one argument twice, and for an argument as it is."""
    inner = xs.jit(lambda a, b: (a * b + a, b))
    return inner(x, y)[0] + inner(x, x)[0] * inner(inner(y, x)[1], y)[1]


def products_of_the_results_of_a_loop(x, y):
    """Multiply two results of one loop, of different shapes, along the same axes."""
    x, y = lax.while_loop(
        lambda carried: carried[0][0, 0] < 3, lambda carried: (carried[0] + 1, carried[1] * 2), (x, y)
    )
    along = (((0,), (0,)), ((), ()))
    return lax.dot_general(x, jnp.ones((3, 2)), along), lax.dot_general(y, jnp.ones((3, 2)), along)


LOGGED = {
    **{name: program for name, (program, _) in PREDICTED.items()},
    "layers in a loop": programs.layers_in_a_loop(3),
    "layers of a branch": programs.layers_of_a_branch(3),
    "checkpointed": programs.checkpointed(3),
    "a barrier": (lambda x: lax.optimization_barrier((jnp.sin(x), x))[0] * 2, (np.ones(3, np.float32),)),
    "a call of Python": (lambda x: xs.pure_callback(np.sin, x, x) + 1, (np.ones(3, np.float32),)),
    "whole numbers of four bits": (lambda x: x * 2 + x, (jnp.ones(3, jnp.int4),)),
    "random numbers": (lambda key: xs.random.normal(xs.random.split(key)[0], (3,)), (xs.random.key(0),)),
    "two results": (lambda x: lax.top_k(x, 2)[0] + lax.sort(x)[:2], (np.ones(5, np.float32),)),
    "calls of one function": (calls_of_one_function, (np.ones(3, np.float32),) * 2),
    "products of the results of a loop": (
        products_of_the_results_of_a_loop,
        (np.ones((3, 4), np.float32), np.ones((3, 4, 5), np.float32)),
    ),
}


@pytest.mark.parametrize("name", LOGGED)
def test_graphs_from_the_log_are_those_of_the_module(name):
    function, arguments = LOGGED[name]
    lowered = lower(xs.make_jaxpr(function)(*arguments), "logged", with_log=True)
    read, logged = build_graphs(lowered.module), build_graphs_from_log(lowered.module, lowered.log)
    assert [describe_graph(graph) for graph in logged] == [describe_graph(graph) for graph in read]


def describe_graph(graph):
    places = map(graph.defining_op, range(len(graph)))
    names = [None if each is None else full_op_name(each) for each in places]
    return graph.in_loop, graph.kind, graph.size, graph.operands, graph.nanoseconds, names, graph.results


def test_a_log_that_misses_an_operation_is_not_read():
    lowered = lower(xs.make_jaxpr(lambda x: jnp.sin(x) * 2 + x)(np.ones(3, np.float32)), "missing", with_log=True)
    entries = lowered.log.functions["main"].entries
    assert build_graphs_from_log(lowered.module, lowered.log) is not None
    del entries[[name for name, *_ in entries].index("stablehlo.sine")]
    assert build_graphs_from_log(lowered.module, lowered.log) is None


def test_a_quotient_by_a_reduction_over_one_number_is_looked_at():
    jaxpr = xs.make_jaxpr(lambda x: 2.0 / jnp.max(x, axis=1))(np.ones((1, 1), np.float32))
    (graph,) = build_graphs(lower(jaxpr, "quotient").module)
    assert graph.kind[-1] == "divide" and "reshape" in graph.kind


def test_long_programs_are_looked_at_without_recursion():
    def function(x, y):
        for _ in range(3000):
            x = jnp.sin(x) * y + x
        return x @ y

    shapes = [xs.ShapeDtypeStruct((64, 64), np.float32)] * 2
    assert "optimization_barrier" not in xs.jit(function).lower(*shapes).as_text()


@pytest.mark.parametrize(
    ("change", "words", "kept"), [("off", "nothing kept", 0), ("auto", "kept what is worth it", 6)]
)
def test_what_if_nothing_were_kept(change, words, kept):
    function, arguments = programs.layers(8)
    found = xs.inspect.what_if(function, *arguments, change={"keep": change}, timings=False)
    assert words in found.text
    (after,) = (each for each in found.diff.after if isinstance(each, records.Compiled))
    assert len(after.kept) == kept


def test_a_large_sum_is_a_librarys_and_a_small_one_is_not():
    for rows, kinds in ((128, ["library_reduce"]), (16, ["reduce"])):
        jaxpr = xs.make_jaxpr(lambda x: jnp.sum(jnp.sin(x), axis=1))(np.ones((rows, 32), np.float32))
        (graph,) = build_graphs(lower(jaxpr, "sums").module)
        assert [kind for kind in graph.kind if "reduce" in kind] == kinds
        assert len(simulate_fusion(graph).roots) == (2 if rows == 128 else 1)  # the library has no sine
