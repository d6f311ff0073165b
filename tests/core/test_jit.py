"""jit: what is static, what is traced again and why, what is donated, and everything that may be decorated."""

import functools
import threading
import warnings

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.trace.state import STATE


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, function):
        self.function = function
        self.calls = 0
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def reasons(f, *calls):
    """Why each call was traced; None for a call that was not."""
    found = []
    for args in calls:
        seen = []
        with records.watch(seen.append):
            f(*args)
        traced = [record.reason for record in seen if isinstance(record, records.Traced)]
        found.append(traced[0] if traced else None)
    return found


# Static arguments ---------------------------------------------------------------------------------------------------


def power(x, n, *, add=0):
    assert isinstance(n, int)
    return x**n + add


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnums": -1},
        {"static_argnames": "n"},
        {"static_argnames": ["n", "add"]},
        {"static_argnums": 1, "static_argnames": ("add",)},
    ],
)
def test_static_arguments_by_number_and_by_name(options):
    f = xs.jit(power, **options)
    assert float(f(3.0, 2)) == 9.0
    assert float(f(3.0, 3)) == 27.0
    if options != {"static_argnums": -1}:
        assert float(f(3.0, n=2)) == 9.0
    assert float(f(3.0, 2, add=1)) == 10.0


def test_each_static_value_makes_a_program_and_keeps_it():
    counted = Counted(power)
    f = xs.jit(counted, static_argnums=1)
    for n in (2, 3, 2, 3):
        f(2.0, n)
    assert counted.calls == 2


def test_a_static_argument_has_to_be_hashable():
    with pytest.raises((TypeError, ValueError), match=r"[Hh]ash"):
        xs.jit(lambda x, n: x, static_argnums=1)(1.0, [1, 2])


def test_strings_and_functions_may_be_static():
    f = xs.jit(lambda x, how: {"sin": jnp.sin, "cos": jnp.cos}[how](x), static_argnames="how")
    assert float(f(0.0, "cos")) == 1.0 and float(f(0.0, how="sin")) == 0.0
    assert float(xs.jit(lambda g, x: g(x), static_argnums=0)(jnp.sin, 0.0)) == 0.0


# What is traced again -----------------------------------------------------------------------------------------------


def test_the_reasons_for_tracing_are_recorded():
    def f(x, y):
        return x + y

    vector, longer = np.ones(3, "float32"), np.ones(4, "float32")
    told = reasons(
        xs.jit(f),
        (vector, vector),
        (vector + 1, vector),
        (longer, longer),
        (vector, 1),
        (vector, (np.float32(1))),
        (vector, 2),
    )
    assert told[0] == "first call"
    assert told[1] is None and told[5] is None
    assert "x: float32[3] → float32[4]" in told[2] or "x: f32[3] → f32[4]" in told[2]
    assert "y: " in told[3] and "(weak)" in told[3] and "x: " not in told[3]
    assert "y: " in told[4]


def test_a_changed_structure_and_a_changed_static_value_are_reasons():
    told = reasons(xs.jit(lambda p: p), ({"a": 1.0},), ({"a": 1.0, "b": 2.0},))
    assert "structure of the arguments changed" in told[1]
    told = reasons(xs.jit(lambda x, n: x**n, static_argnums=1), (1.0, 2), (1.0, 3))
    assert told[1] == "the static argument n: 2 → 3"


def test_a_setting_is_a_reason():
    f = xs.jit(lambda x: x * 1.5)
    first = reasons(f, (np.float32(1),))
    with xs.enable_x64():
        second = reasons(f, (np.float32(1),))
    third = reasons(f, (np.float32(2),))
    assert first == ["first call"] and "setting" in second[0] and third == [None]


def test_numpy_arrays_scalars_and_arrays_share_a_trace():
    counted = Counted(lambda x: x * 2)
    f = xs.jit(counted)
    for x in (np.ones(3, "float32"), np.ones(3), jnp.ones(3), f(jnp.ones(3))):
        assert f(x).dtype == np.float32
    assert counted.calls == 1
    f(1), f(2), f(jnp.asarray(1)), f(np.int32(3))
    assert counted.calls == 3  # Python's 1 is weak, the others are not


def test_weak_types_stay_weak():
    half = np.ones(2, "float16")
    assert (xs.jit(lambda x: x)(1.0) * half).dtype == np.float16
    assert (xs.jit(lambda x: x * 2.0)(1.0) * half).dtype == np.float16
    assert xs.jit(lambda x, y: x * y)(2.0, half).dtype == np.float16
    assert (xs.jit(jnp.sin)(1.0) * half).dtype == np.float16
    assert (xs.grad(xs.jit(jnp.sin))(1.0) * np.float32(1)).dtype == np.float32


def test_the_same_function_jitted_twice_is_traced_once():
    counted = Counted(lambda x: x + 1)
    xs.jit(counted)(1.0), xs.jit(counted)(2.0)
    assert counted.calls == 1


def test_double_precision_has_programs_of_its_own():
    f = xs.jit(lambda x: x * 2)
    assert f(1.5).dtype == np.float32
    with xs.enable_x64():
        assert f(1.5).dtype == np.float64
        assert f(np.float32(1)).dtype == np.float32
    assert f(1.5).dtype == np.float32


# What may be jitted -------------------------------------------------------------------------------------------------


@xs.jit
def plain(x):
    """Adds one."""
    return x + 1


@xs.jit(static_argnames=("n",))
def with_options(x, n):
    return x * n


@functools.partial(xs.jit, static_argnums=(1,))
def by_partial(x, n):
    return x * n


def test_decorators_keep_name_and_documentation():
    assert (plain.__name__, plain.__doc__) == ("plain", "Adds one.")
    assert float(plain(1.0)) == 2.0
    assert float(with_options(2.0, n=3)) == 6.0 and float(by_partial(2.0, 3)) == 6.0


class Model:
    def __init__(self, scale):
        self.scale = scale

    @functools.partial(xs.jit, static_argnums=0)
    def scaled(self, x):
        return x * self.scale

    @staticmethod
    @xs.jit
    def doubled(x):
        return x * 2


def test_methods_partials_lambdas_and_callables():
    assert float(Model(3.0).scaled(2.0)) == 6.0
    assert float(Model(4.0).scaled(2.0)) == 8.0
    assert float(Model.doubled(2.0)) == 4.0
    assert float(xs.jit(functools.partial(power, n=2))(3.0)) == 9.0
    assert float(xs.jit(functools.partial(jnp.add, 1.0))(2.0)) == 3.0
    assert float(xs.jit(Model(5.0).doubled)(1.0)) == 2.0
    assert float(xs.jit(Counted(lambda x: x))(1.0)) == 1.0
    assert float(xs.jit(xs.jit(lambda x: x + 1))(1.0)) == 2.0


def test_keywords_defaults_and_trees():
    f = xs.jit(
        lambda p, *rest, scale=2.0, **more: {"sum": (p["a"] + sum(rest)) * scale + more.get("c", 0), "none": None}
    )
    found = f({"a": 1.0}, 2.0, 3.0, c=10)
    assert float(found["sum"]) == 22.0 and found["none"] is None
    assert float(f({"a": 1.0}, scale=3.0)["sum"]) == 3.0
    pair = xs.jit(lambda x: (x, [x, ()]))(1.0)
    assert isinstance(pair, tuple) and float(pair[1][0]) == 1.0 and pair[1][1] == ()


def test_results_that_are_arguments_or_constants():
    x = jnp.arange(3.0)
    same, constant, number = xs.jit(lambda x: (x, np.ones(2), 3))(x)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(constant, np.ones(2))
    assert int(number) == 3
    assert xs.jit(lambda: 5.0)().dtype == np.float32
    assert xs.jit(lambda x: None)(1.0) is None


# Unused, donated, inlined -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_unused", [False, True])
def test_arguments_that_are_not_used(keep_unused):
    f = xs.jit(lambda x, y: x + 1, keep_unused=keep_unused)
    for _ in range(3):
        assert float(f(1.0, np.ones((2, 3)))) == 2.0


def test_donated_arguments_are_gone():
    f = xs.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    for _ in range(2):
        x, y = jnp.ones(1000), jnp.ones(1000)
        xs.block_until_ready(f(x, y))
        assert x.is_deleted() and not y.is_deleted()
        with pytest.raises(RuntimeError, match="deleted"):
            np.asarray(x)
    g = xs.jit(lambda state: {"w": state["w"] + 1}, donate_argnames="state")
    state = {"w": jnp.zeros(10)}
    for _ in range(3):
        state = g(state=state)
    assert float(state["w"][0]) == 3.0


V, M = np.ones(4, "f"), np.ones((185, 16), "f")
#: Programs, their arguments, what is donated, and what the warning says of each argument that is not usable.
DONATIONS = {
    "a smaller result": (lambda x: x.sum(), (M,), (0,), {"x: f32[185,16]": "no result has this size, 11.6 KiB"}),
    "another shape": (lambda x: x.reshape(2, 2), (V,), (0,), {}),
    "another dtype of that size": (lambda x: x.astype(int), (V,), (0,), {}),
    "a narrower dtype": (lambda x: x.astype("bfloat16"), (V,), (0,), {"x: f32[4]": "no result has this size"}),
    "two for one": (lambda x, y: x + y, (V, V), (0, 1), {"y: f32[4]": "other donated arguments serve all results"}),
    "not used": (lambda x, y: y * 2, (M, V), (0,), {}),
    "a tree": (lambda p: {"w": p["w"] + p["b"].sum()}, ({"w": V, "b": M},), (0,), {"p['b']: f32[185,16]": "no result"}),
    "itself": (lambda x: x, (V,), (0,), {}),
    "nothing in it": (lambda x: x.sum(), (V[:0],), (0,), {}),
}


@pytest.mark.parametrize("case", DONATIONS)
def test_donations_that_cannot_be_used_are_told_once(case):
    function, args, numbers, told = DONATIONS[case]
    f = xs.jit(function, donate_argnums=numbers)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(*args), f(*args)
    assert len(caught) == bool(told)
    for warning in caught:
        said = str(warning.message)
        assert said.startswith("Some donated buffers were not usable in <lambda> at "), (
            "jax's words: people filter them"
        )
        assert warning.filename == __file__ and all(f"{name} ({reason}" in said for name, reason in told.items())
        assert said.count(": f32[") == len(told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = f.lower(*args).compile().as_text()
    reused = compiled.partition("\n")[0].count("-alias)")
    donated = len([leaf for i in numbers for leaf in xs.tree.leaves(args[i]) if leaf.size])
    assert reused == donated - len(told) - (case == "not used")


def test_lowering_tells_of_donations_too():
    with pytest.warns(UserWarning, match=r"not usable in <lambda> at .*test_jit.py:\d+"):
        xs.jit(lambda x: x.sum(), donate_argnums=0).lower(M)


def test_inline_leaves_no_call():
    inner = xs.jit(lambda x: x + 1, inline=True)
    assert [e.operation.name for e in xs.make_jaxpr(lambda x: inner(x) * 2)(1.0).eqns] == ["add", "mul"]
    assert [e.operation.name for e in xs.make_jaxpr(xs.jit(lambda x: x + 1))(1.0).eqns] == ["jit"]


def test_without_jit_python_runs_each_time():
    counted = Counted(lambda x: x + 1)
    f = xs.jit(counted)
    with xs.disable_jit():
        assert float(f(1.0)) == 2.0 and float(f(1.0)) == 2.0
        assert counted.calls == 2
        if f(1.0) > 0:
            counted.calls = 0
    f(1.0), f(1.0)
    assert counted.calls == 1


# Closures -----------------------------------------------------------------------------------------------------------


def test_closed_over_arrays_are_constants_and_tracers_operands():
    table = jnp.arange(3.0)
    f = xs.jit(lambda x: x * table)
    np.testing.assert_array_equal(f(2.0), [0, 2, 4])
    outer = xs.jit(lambda x: xs.jit(lambda y: y * x)(3.0) + xs.jit(lambda: x * 2)())
    assert float(outer(2.0)) == 10.0 and float(outer(3.0)) == 15.0
    assert float(xs.grad(lambda x: xs.jit(lambda y: y * x * x)(3.0))(2.0)) == 12.0
    np.testing.assert_array_equal(xs.vmap(lambda x: xs.jit(lambda y: y * x)(3.0))(table), [0, 3, 6])


def test_a_function_that_closes_over_a_tracer_is_traced_each_time():
    def outer(x):
        def inner(y):
            return x * y

        f = xs.jit(inner)
        return f(2.0) + f(3.0)

    assert float(xs.grad(outer)(1.0)) == 5.0
    assert float(xs.jit(outer)(2.0)) == 10.0
    np.testing.assert_array_equal(xs.vmap(xs.grad(outer))(np.arange(2.0)), [5.0, 5.0])


def test_jit_of_a_recursive_function():
    @xs.jit(static_argnums=1)
    def f(x, n):
        return x if n == 0 else f(x, n - 1) * 2

    assert float(f(1.0, 5)) == 32.0


# Errors and threads -------------------------------------------------------------------------------------------------


def test_an_exception_passes_through_and_is_not_remembered():
    fail = [True]

    @xs.jit
    def f(x):
        if fail:
            raise LookupError("not this time")
        return x + 1

    for _ in range(2):
        with pytest.raises(LookupError, match="not this time"):
            f(1.0)
    assert STATE.trace is None
    fail.clear()
    assert float(f(1.0)) == 2.0


def test_failures_are_recorded_with_the_users_line():
    seen = []

    @xs.jit
    def f(x):
        return jnp.sin([x])

    with records.watch(seen.append), pytest.raises(TypeError):
        f(1.0)
    (failure,) = [r for r in seen if isinstance(r, records.Failure)]
    assert failure.error == "TypeError" and failure.source.file == __file__


def test_threads_trace_and_run_side_by_side():
    f = xs.jit(lambda x, n: jnp.sin(x) * n, static_argnums=1)
    found, errors = {}, []

    def work(k):
        try:
            for n in range(4):
                found[k, n] = float(f(np.full(k + 1, 0.5, "float32"), n)[0])
                found[k, n, "slope"] = float(xs.grad(lambda x: jnp.sum(f(x, 2)))(np.full(k + 1, 0.5, "float32"))[0])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for k in range(4):
        for n in range(4):
            assert found[k, n] == pytest.approx(np.sin(0.5) * n, rel=1e-5)
            assert found[k, n, "slope"] == pytest.approx(2 * np.cos(0.5), rel=1e-5)


def test_a_trace_on_one_thread_is_not_seen_on_another():
    inside, results = threading.Event(), []

    def other():
        inside.wait(10)
        results.append(type(jnp.sin(1.0)).__name__)

    thread = threading.Thread(target=other)
    thread.start()

    @xs.jit
    def f(x):
        inside.set()
        thread.join()
        return x + 1

    assert float(f(1.0)) == 2.0
    assert results == ["ArrayImpl"]
