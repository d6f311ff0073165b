"""Ninety operations outside of jit, and programs of them, in turn with jax: ``python -m bench.eager``.

Names choose some. A call is one of a hundred that follow each other, so that what one call waits for is not counted;
its processor time is, since dispatch is what is measured, and other programs may use the machine. Arrays have sixteen
numbers: what XLA computes takes no time.
"""

from __future__ import annotations

import functools
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import paired, results
from .mlp import digits_like
from .sides import Side, side

CALLS = 100
ROUNDS = 7
#: The highest ratios of programs.
GOALS = {"gradient of a perceptron": 0.3, "an epoch of four steps": 0.5}


def operations(of: Side) -> dict[str, Callable[[], Any]]:
    """Return a call of each operation, by kind and name."""
    return {
        **_unary(of),
        **_binary(of),
        **_reductions(of),
        **_indexing(of),
        **_shapes(of),
        **_creation(of),
        **_random(of),
        **_linear_algebra(of),
        **_networks(of),
    }


def _matrix(of: Side) -> Any:
    return of.jnp.asarray(np.arange(1, 17, dtype=np.float32).reshape(4, 4) / 17)


def _unary(of: Side) -> dict[str, Callable[[], Any]]:
    jnp, x = of.jnp, _matrix(of)
    names = "sin exp log sqrt tanh abs negative square sign floor isfinite logical_not rint arctan"
    calls = {f"unary {name}": functools.partial(getattr(jnp, name), x) for name in names.split()}
    return calls | {"unary -x": lambda: -x, "unary astype": lambda: x.astype(jnp.int32)}


def _binary(of: Side) -> dict[str, Callable[[], Any]]:
    jnp, x = of.jnp, _matrix(of)
    y, number = x + 1, np.float32(2.5)
    names = "maximum minimum power arctan2 logaddexp floor_divide remainder"
    calls = {f"binary {name}": functools.partial(getattr(jnp, name), x, y) for name in names.split()}
    return calls | {
        "binary x+y": lambda: x + y,
        "binary x*y": lambda: x * y,
        "binary x/y": lambda: x / y,
        "binary x*2.5": lambda: x * 2.5,
        "binary 2-x": lambda: 2 - x,
        "binary x**2": lambda: x**2,
        "binary x*np.float32": lambda: x * number,
        "binary x>y": lambda: x > y,
        "binary where": lambda: jnp.where(x > 0.5, x, y),
        "binary clip": lambda: jnp.clip(x, 0.2, 0.8),
    }


def _reductions(of: Side) -> dict[str, Callable[[], Any]]:
    jnp, x = of.jnp, _matrix(of)
    names = "sum mean max min prod var std argmax any all cumsum median count_nonzero"
    calls = {f"reduction {name}": functools.partial(getattr(jnp, name), x) for name in names.split()}
    return calls | {
        "reduction sum,axis": lambda: jnp.sum(x, axis=0),
        "reduction mean,keepdims": lambda: jnp.mean(x, axis=-1, keepdims=True),
        "reduction x.sum": lambda: x.sum(),
    }


def _indexing(of: Side) -> dict[str, Callable[[], Any]]:
    jnp, x = of.jnp, _matrix(of)
    places, mask = jnp.asarray([2, 0, 1]), np.arange(4) % 2 == 0
    return {
        "index x[0]": lambda: x[0],
        "index x[1,2]": lambda: x[1, 2],
        "index x[1:3]": lambda: x[1:3],
        "index x[:,None]": lambda: x[:, None],
        "index x[...,0]": lambda: x[..., 0],
        "index x[places]": lambda: x[places],
        "index x[mask]": lambda: x[mask],
        "index at.set": lambda: x.at[0].set(1.0),
        "index at.add": lambda: x.at[places].add(1.0),
        "index take": lambda: jnp.take(x, places, axis=0),
        "index take_along_axis": lambda: jnp.take_along_axis(x, places[None, :], axis=1),
    }


def _shapes(of: Side) -> dict[str, Callable[[], Any]]:
    jnp, x = of.jnp, _matrix(of)
    return {
        "shape reshape": lambda: x.reshape(16),
        "shape ravel": lambda: x.ravel(),
        "shape transpose": lambda: x.T,
        "shape swapaxes": lambda: jnp.swapaxes(x, 0, 1),
        "shape expand_dims": lambda: jnp.expand_dims(x, 0),
        "shape squeeze": lambda: jnp.squeeze(x[None]),
        "shape broadcast_to": lambda: jnp.broadcast_to(x, (2, 4, 4)),
        "shape concatenate": lambda: jnp.concatenate([x, x]),
        "shape stack": lambda: jnp.stack([x, x]),
        "shape split": lambda: jnp.split(x, 2),
        "shape pad": lambda: jnp.pad(x, 1),
        "shape flip": lambda: jnp.flip(x, 0),
        "shape roll": lambda: jnp.roll(x, 1, 0),
        "shape sort": lambda: jnp.sort(x),
    }


def _creation(of: Side) -> dict[str, Callable[[], Any]]:
    jnp, x, numbers = of.jnp, _matrix(of), np.ones(16, np.float32)
    return {
        "creation zeros": lambda: jnp.zeros((4, 4)),
        "creation full": lambda: jnp.full((4, 4), 2.5),
        "creation zeros_like": lambda: jnp.zeros_like(x),
        "creation arange": lambda: jnp.arange(16),
        "creation linspace": lambda: jnp.linspace(0.0, 1.0, 16),
        "creation eye": lambda: jnp.eye(4),
        "creation asarray(numpy)": lambda: jnp.asarray(numbers),
        "creation array(list)": lambda: jnp.array([1.0, 2.0, 3.0]),
        "creation device_put": lambda: of.xs.device_put(numbers),
    }


def _random(of: Side) -> dict[str, Callable[[], Any]]:
    random = importlib.import_module(f"{of.name}.random")
    key = random.key(0)
    return {
        "random key": lambda: random.key(1),
        "random split": lambda: random.split(key),
        "random fold_in": lambda: random.fold_in(key, 3),
        "random normal": lambda: random.normal(key, (4, 4)),
        "random uniform": lambda: random.uniform(key, (4, 4)),
        "random bernoulli": lambda: random.bernoulli(key, 0.5, (4, 4)),
        "random permutation": lambda: random.permutation(key, 16),
    }


def _linear_algebra(of: Side) -> dict[str, Callable[[], Any]]:
    jnp, x = of.jnp, _matrix(of)
    positive = x @ x.T + jnp.eye(4)
    return {
        "linear x@x": lambda: x @ x,
        "linear dot": lambda: jnp.dot(x, x),
        "linear einsum": lambda: jnp.einsum("ij,kj->ik", x, x),
        "linear norm": lambda: jnp.linalg.norm(x),
        "linear cholesky": lambda: jnp.linalg.cholesky(positive),
        "linear solve": lambda: jnp.linalg.solve(positive, x),
    }


def _networks(of: Side) -> dict[str, Callable[[], Any]]:
    nn, x = importlib.import_module(f"{of.name}.nn"), _matrix(of)
    names = "relu gelu sigmoid softmax log_softmax logsumexp softplus"
    calls = {f"nn {name}": functools.partial(getattr(nn, name), x) for name in names.split()}
    classes = of.jnp.asarray([0, 2, 1])
    return calls | {"nn one_hot": lambda: nn.one_hot(classes, 4)}


# Programs ------------------------------------------------------------------------------------------------------------


def programs(of: Side) -> dict[str, Callable[[], Any]]:
    """Return calls of programs that nothing jits."""
    xs, jnp = of.xs, of.jnp
    random = np.random.default_rng(0)
    weights = [
        (jnp.asarray(random.normal(size=(a, b)).astype(np.float32) / 8), jnp.zeros(b))
        for a, b in ((64, 64), (64, 64), (64, 10))
    ]
    images, labels = (x[:256] for x in digits_like())
    batches = [(jnp.asarray(images[k : k + 64]), jnp.asarray(labels[k : k + 64])) for k in range(0, 256, 64)]

    def loss(weights: Any, images: Any, labels: Any) -> Any:
        *hidden, (w, b) = weights
        x = images
        for v, c in hidden:
            x = jnp.tanh(x @ v + c)
        scores = x @ w + b
        logs = scores - jnp.log(jnp.sum(jnp.exp(scores), axis=-1, keepdims=True))
        return -jnp.mean(jnp.take_along_axis(logs, labels[:, None].astype(int), axis=-1))

    def step(weights: Any, batch: Any) -> Any:
        gradient = xs.grad(loss)(weights, *batch)
        return xs.tree_util.tree_map(lambda w, g: w - 0.1 * g, weights, gradient)

    def epoch() -> Any:
        current = weights
        for batch in batches:
            current = step(current, batch)
        return current

    return {
        "gradient of a perceptron": lambda: xs.grad(loss)(weights, *batches[0]),
        "an epoch of four steps": epoch,
    }


# Measuring -----------------------------------------------------------------------------------------------------------


def _call(name: str, case: str) -> Callable[[], Any]:
    """Return a hundred calls of an operation, or one of a program."""
    of = side(name)
    if case in OPERATIONS:
        call = operations(of)[case]

        def several() -> None:
            for _ in range(CALLS):
                result = call()
            of.xs.block_until_ready(result)

        return several
    program = programs(of)[case]
    return lambda: of.xs.block_until_ready(program())


_NAMES = {
    "unary": "sin exp log sqrt tanh abs negative square sign floor isfinite logical_not rint arctan -x astype",
    "binary": "maximum minimum power arctan2 logaddexp floor_divide remainder where clip x+y x*y x/y x*2.5 2-x x**2 "
    "x*np.float32 x>y",
    "reduction": "sum mean max min prod var std argmax any all cumsum median count_nonzero sum,axis mean,keepdims "
    "x.sum",
    "index": "x[0] x[1,2] x[1:3] x[:,None] x[...,0] x[places] x[mask] at.set at.add take take_along_axis",
    "shape": "reshape ravel transpose swapaxes expand_dims squeeze broadcast_to concatenate stack split pad flip roll "
    "sort",
    "creation": "zeros full zeros_like arange linspace eye asarray(numpy) array(list) device_put",
    "random": "key split fold_in normal uniform bernoulli permutation",
    "linear": "x@x dot einsum norm cholesky solve",
    "nn": "relu gelu sigmoid softmax log_softmax logsumexp softplus one_hot",
}
OPERATIONS = tuple(f"{kind} {name}" for kind, names in _NAMES.items() for name in names.split())
PROGRAMS = ("gradient of a perceptron", "an epoch of four steps")


def main(names: list[str]) -> None:
    """Print the rows of some cases, or of all; ``make bench`` writes them into RESULTS.md."""
    print("\n".join(results.heading("outside of jit", ("xlascope", "jax"))))
    ratios = []
    for found in paired.compare("bench.eager", names or [*OPERATIONS, *PROGRAMS], {}, rounds=ROUNDS):
        if isinstance(found, paired.Unmeasured):
            print(f"not measured: {found.case}: {found.reason}")
            continue
        is_operation = found.case in OPERATIONS
        print(results.row(found, GOALS.get(found.case, 1.0), CALLS if is_operation else 1), flush=True)
        ratios += [found.ratio] * is_operation
    if ratios:
        slower = sum(ratio > 1 for ratio in ratios)
        print(f"\n{len(ratios)} operations: median {statistics.median(ratios):.3f}; above 1: {slower}")


if __name__ == "__main__":
    if sys.argv[1:2] in (["xlascope"], ["jax"]):
        paired.serve(functools.partial(_call, sys.argv[1]), clock=time.process_time)
    else:
        main(sys.argv[1:])
