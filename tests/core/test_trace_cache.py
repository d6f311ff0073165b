"""Functions whose steps are taken from a plan give what they give when they run, each time anew."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.trace.trace_cache import cache_trace

X = np.linspace(-1.0, 2.0, 12, dtype=np.float32).reshape(3, 4)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "norm": lambda x: (x - jnp.mean(x, axis=-1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5),
    "used twice": lambda x: x * jnp.tanh(x) ** 3 + jnp.sin(x) * x,
    "attention": lambda x: jnp.swapaxes(x @ x.T, 0, 1) @ x,
    "softmax": lambda x: jnp.exp(x - jnp.max(x, axis=0)) / jnp.sum(jnp.exp(x), axis=(0,)),
    "joined": lambda x: jnp.concatenate([x, jnp.flip(x, 0)], 1) @ jnp.stack([x, x]).reshape(8, 3),
    "parts": lambda x: sum(part**2 for part in jnp.split(x, 2, axis=1)),
    "mask": lambda x: jnp.where(jnp.tril(jnp.ones((3, 4), bool)), x, -1.0),
    "ranks": lambda x: x + x[0] - jnp.maximum(x[:, :1], 0.5) * 2,
    "orders": lambda x: jnp.sort(x, axis=1) * jnp.cumsum(x, 0) / jnp.linalg.norm(x),
    "held": lambda x: xs.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * x, x),
    "mapped": lambda x: xs.vmap(lambda row: jnp.dot(row, row) * row)(x),
    "own rule": lambda x: xs.nn.relu(x) + xs.nn.logsumexp(x, axis=1, keepdims=True),
}
TRANSFORMED: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "itself": lambda f: f,
    "grad": lambda f: xs.grad(lambda x: jnp.sum(f(x))),
    "hessian": lambda f: xs.grad(lambda x: jnp.sum(xs.grad(lambda y: jnp.sum(f(y)))(x) ** 2)),
    "linearize": lambda f: lambda x: xs.linearize(f, x)[1](x),
    "jvp": lambda f: lambda x: xs.jvp(f, (x,), (x,))[1],
    "vmap of grad": lambda f: xs.vmap(xs.grad(lambda x: jnp.sum(f(x)))),
}


@pytest.mark.parametrize("transformation", TRANSFORMED)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_trace_is_the_same(name: str, transformation: str) -> None:
    x = np.stack([X, X + 1]) if transformation.startswith("vmap") else X
    function = TRANSFORMED[transformation](FUNCTIONS[name])
    traces = [str(xs.make_jaxpr(lambda x: function(x))(x)) for _ in range(4)]
    assert traces[1:] == traces[:1] * 3


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_outside_of_traces_stay_the_same(name: str) -> None:
    function = FUNCTIONS[name]
    gradients = [np.asarray(xs.grad(lambda x: jnp.sum(function(x)))(X)) for _ in range(4)]
    jitted = np.asarray(xs.jit(xs.grad(lambda x: jnp.sum(function(x))))(X))
    for each in gradients:
        np.testing.assert_array_equal(each, gradients[0])
    np.testing.assert_allclose(jitted, gradients[0], rtol=2e-5, atol=1e-5)


@pytest.fixture
def counted() -> Callable[..., Any]:
    """A planned function that counts how often it runs."""

    def function(*args: Any, **kwargs: Any) -> Any:
        function.runs += 1  # type: ignore[attr-defined]
        (x, *rest) = args
        for y in [*rest, *kwargs.values()]:
            x = x * y if not isinstance(y, (list, tuple)) else x + sum(y)
        return x

    function.runs = 0  # type: ignore[attr-defined]
    made = cache_trace(function)
    made.count = lambda: function.runs  # type: ignore[attr-defined]
    return made


def traced(function: Callable[..., Any], *others: Any, **named: Any) -> Any:
    """What a function gives under a trace, of ``X`` and other arguments."""
    return np.asarray(xs.jit(lambda x: function(x, *others, **named))(X))


def test_it_runs_twice_and_is_followed_from_then_on(counted: Any) -> None:
    for _ in range(5):
        np.testing.assert_array_equal(traced(counted, 2, y=[1.0, 3]), X * 2 + np.float32(4))
    assert counted.count() == 2
    np.testing.assert_array_equal(traced(counted, 3, y=[1.0, 3]), X * 3 + np.float32(4))
    assert counted.count() == 3


def test_arrays_by_place_come_before_those_by_name() -> None:
    """A trapezoid's places were taken for its heights, from the third trace on."""
    places = np.array([0.5, 1.0, 2.5], np.float32)
    expected = str(xs.make_jaxpr(lambda y, x: _trapezoid(y, x))(X, places))
    for _ in range(4):
        text = str(xs.make_jaxpr(lambda y, x: jnp.trapezoid(y, x=x, axis=0))(X, places))
        assert text == expected
        made = xs.jit(lambda y, x: jnp.trapezoid(y, x=x, axis=0))(X, places)
        np.testing.assert_allclose(made, np.trapezoid(X, x=places, axis=0), rtol=1e-6)


def _trapezoid(y: Any, x: Any) -> Any:
    return jnp.trapezoid(y, x, axis=0)


@pytest.mark.parametrize(
    ("first", "second"),
    [(2, 2.0), (True, 1), (0.0, -0.0), ((1, 2), [1, 2]), (np.float32(2), np.float16(2)), (np.int8(2), 2)],
)
def test_equal_values_of_two_sorts_have_two_plans(counted: Any, first: Any, second: Any) -> None:
    for _ in range(3):
        for each in (first, second):
            text = str(xs.make_jaxpr(lambda x, each=each: counted(x, each))(X))
            assert text == str(xs.make_jaxpr(lambda x, each=each: (lambda x, y: _plain(x, y))(x, each))(X))
    assert counted.count() == 4


def _plain(x: Any, y: Any) -> Any:
    return x * y if not isinstance(y, (list, tuple)) else x + sum(y)


class Stands:
    """Stands for a value that changes."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __jax_array__(self) -> Any:
        return np.float32(self.value)


def test_what_may_change_is_looked_at_each_time(counted: Any) -> None:
    stands, array = Stands(1.0), np.ones(4, np.float32)
    for value in (1.0, 2.0, 3.0, 4.0):
        stands.value = value
        array[:] = value
        np.testing.assert_array_equal(traced(counted, stands), X * np.float32(value))
        np.testing.assert_array_equal(traced(counted, array), X * np.float32(value))
    assert counted.count() == 8


def test_errors_are_the_functions_own_each_time() -> None:
    messages = set()
    for _ in range(4):
        with pytest.raises(TypeError) as raised:
            xs.jit(lambda weights: jnp.dot(weights, weights))(X)
        messages.add(str(raised.value))
    (message,) = messages
    assert "test_trace_cache.py" in message


def test_settings_choose_the_plan() -> None:
    def bits(x: Any) -> str:
        return str(xs.make_jaxpr(lambda x: jnp.sum(jnp.mean(x, 0) > 0))(x))

    for _ in range(3):
        assert "i32[]" in bits(X)
        with xs.enable_x64(True):
            assert "i64[]" in bits(X)


def test_a_result_that_is_an_argument_is_that_argument() -> None:
    same = cache_trace(lambda x, y: [y, x])
    for _ in range(3):
        xs.make_jaxpr(lambda x: [_checked(same(x, 2.0), [2.0, x]), x][1])(X)


def _checked(found: Any, wanted: list[Any]) -> None:
    assert found[0] == wanted[0]
    assert found[1] is wanted[1]


def test_the_line_is_that_of_each_call() -> None:
    def both(x: Any) -> Any:
        y = jnp.mean(x, 0)
        return jnp.mean(x, 0) + y

    for _ in range(3):
        program = xs.make_jaxpr(lambda x: both(x))(X)
        lines = [eqn.source_info for eqn in program.eqns]
        first, second = (i for i, eqn in enumerate(program.eqns) if eqn.primitive.name == "reduce_sum")
        assert lines[first] != lines[second]
        assert lines[first][0].co_name == lines[second][0].co_name == "both"


WITHOUT_PLANS = """
import xlascope as xs, xlascope.numpy as jnp
from xlascope.operations.trigonometry import Sin
from xlascope.trace.trace_recording import NOT_RECORDABLE

def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2 + jnp.sin(x).sum())

w, x = jnp.arange(6.0).reshape(3, 2), jnp.ones((4, 3))
for _ in range(4):
    print(xs.make_jaxpr(xs.vmap(xs.grad(loss), (None, 0)))(w, x))
    print(xs.make_jaxpr(lambda *a: xs.jvp(loss, a, a))(w, x))
print([float(v) for v in xs.grad(loss)(w, x).ravel()])
plans = {*Sin.instance.jvp_cache.all().values(), *Sin.instance.batch_cache.all().values()}
print("made:", len(plans - {NOT_RECORDABLE}), file=__import__("sys").stderr)
"""


def test_programs_are_the_same_without_plans():
    made = {}
    for name in ("on", "off"):
        environment = os.environ | {"XLASCOPE_PLANS": name}
        command = [sys.executable, "-P", "-c", WITHOUT_PLANS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=True)
        made[name] = done.stdout, int(done.stderr.split("made:")[1])
    assert made["on"][0] == made["off"][0]
    assert made["on"][1] > 0 == made["off"][1]
