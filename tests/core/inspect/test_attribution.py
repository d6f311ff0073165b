"""How much of the devices' time and of the compiler's work has a known equation, on programs that people write."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.analysis.costs.call_times import compute_call_times
from xlascope.analysis.costs.roofline import kernel_flops
from xlascope.records import Compiled, Executed, Traced

#: Counters of loops and the like may be without a source.
FEW_BYTES = 64

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def matrix(*shape: int) -> np.ndarray[Any, Any]:
    return 0.1 * np.random.default_rng(0).standard_normal(shape, np.float32)


def perceptron(root: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The step of the notebook about training: digits, three layers, Adam."""
    tree_map = xs.tree_util.tree_map

    def predict(params: Any, image: Any) -> Any:
        activations = image
        for w, b in params[:-1]:
            activations = jnp.tanh(jnp.dot(activations, w) + b)
        w, b = params[-1]
        scores = jnp.dot(activations, w) + b
        return scores - xs.nn.logsumexp(scores)

    def loss(params: Any, images: Any, labels: Any) -> Any:
        log_probabilities = xs.vmap(predict, in_axes=(None, 0))(params, images)
        return -jnp.mean(jnp.sum(log_probabilities * xs.nn.one_hot(labels, 10), axis=1))

    @xs.jit
    def update(params: Any, mean: Any, square: Any, step: Any, images: Any, labels: Any) -> Any:
        gradients = xs.grad(loss)(params, images, labels)
        step = step + 1
        mean = tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
        square = tree_map(lambda v, g: 0.999 * v + 0.001 * g**2, square, gradients)
        rate = 0.001 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        params = tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, mean, square)
        return params, mean, square, step

    params = [(matrix(m, n), matrix(n)) for m, n in ((64, 512), (512, 512), (512, 10))]
    zeros = tree_map(np.zeros_like, params)
    labels = np.arange(128, dtype=np.int32) % 10
    return update, (params, zeros, zeros, 0.0, matrix(128, 64), labels)


def recurrent(root: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A step of a recurrent network: a scan, its derivative, gradient descent."""

    def loss(params: Any, inputs: Any, labels: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            state = jnp.tanh(x @ params["in"] + state @ params["state"] + params["bias"])
            return state, state

        _, states = lax.scan(cell, jnp.zeros((32, 64)), inputs)
        log_probabilities = xs.nn.log_softmax(states @ params["out"])
        return -jnp.mean(jnp.sum(log_probabilities * xs.nn.one_hot(labels, 10), -1))

    @xs.jit
    def update(params: Any, inputs: Any, labels: Any) -> Any:
        value, gradients = xs.value_and_grad(loss)(params, inputs, labels)
        return value, xs.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradients)

    params = {"in": matrix(16, 64), "state": matrix(64, 64), "bias": matrix(64), "out": matrix(64, 10)}
    return update, (params, matrix(50, 32, 16), np.arange(1600, dtype=np.int32).reshape(50, 32) % 10)


def transformer(root: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The twelve blocks that the benchmarks compile."""
    monkeypatch.syspath_prepend(str(root))
    bench, sides = (importlib.import_module(f"bench.{name}") for name in ("transformer", "sides"))
    return bench.make_gradient(sides.side("xlascope")), bench.weights_and_tokens()


PROGRAMS = [perceptron, recurrent, pytest.param(transformer, marks=pytest.mark.slow)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_nearly_all_time_and_work_has_an_equation(
    program: Any, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    function, arguments = program(root, monkeypatch)
    found = inspect.timings(function, *arguments).records
    traced, compiled, run = (next(r for r in found if isinstance(r, kind)) for kind in (Traced, Compiled, Executed))
    account = compute_call_times(run, compiled)
    share = account.attributed + account.copied  # what a copy costs is the machine's, whose value it is is known
    fused = [kernel for kernel in compiled.kernels if kernel.opcode == "fusion"]
    instructions, unknown = (sum(getattr(k, name) for k in fused) for name in ("instructions", "unknown"))
    with capsys.disabled():
        print(f"\n{program.__name__}: {share:.1%} of device time, {1 - unknown / instructions:.1%} of {instructions}")
    assert share <= 1 + 1e-9
    ran = {call.kernel for call in account.mean.kernels} if account.mean is not None else set[str]()
    unattributed = [kernel for kernel in compiled.kernels if not (kernel.equations or kernel.moves or kernel.copies)]
    assert ran and {kernel.name for kernel in unattributed if kernel.bytes_written > FEW_BYTES} & ran == set()
    assert unknown / instructions <= 0.05
    equations = {each.path for each in traced.jaxpr.walk()}
    assert {path for kernel in compiled.kernels for path in kernel.equations} <= equations


@pytest.mark.parametrize("program", [perceptron, recurrent])
def test_the_floating_point_operations_of_kernels_are_those_of_the_equations(
    program: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All products are found in kernels, transposed ones included; XLA counts nearly the same number."""
    function, arguments = program(root, monkeypatch)
    traced, *_, compiled = inspect.fusions(function, *arguments).records
    inside = {path for kernel in compiled.kernels for path in kernel.equations}
    products = [each.path for each in traced.jaxpr.walk() if each.operation == "dot_general"]
    assert products and set(products) <= inside
    if program is perceptron:
        assert sum(kernel_flops(compiled.kernels, traced.jaxpr).values()) == pytest.approx(compiled.flops, rel=0.1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.igamma(x, x),
        lambda x: lax.betainc(x, x, 0.5 * x),
        lambda x: jnp.linalg.eigh(x[:9].reshape(3, 3))[1],
        xs.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), "VALID").sum()),
    ],
    ids=["loops", "in double precision", "a decomposition", "windows"],
)
def test_what_computes_an_equation_by_a_formula_is_that_equations(function: Callable[..., Any]) -> None:
    """A rule that writes other operations, loops among them, writes work of its equation, not equations."""
    traced, *_, compiled = inspect.fusions(function, np.linspace(0.1, 0.9, 12, dtype=np.float32)).records
    equations = {each.path for each in traced.jaxpr.walk()}
    for kernel in compiled.kernels:
        assert set(kernel.equations) <= equations
        assert kernel.equations or kernel.moves or kernel.copies or kernel.opcode in ("while", "conditional", "call"), (
            kernel.name
        )
