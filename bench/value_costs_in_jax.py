"""What the values of a call of jax cost: its twins of the first pass and of full statistics, in calls of the program.

``python -m bench.value_costs_in_jax`` prints the table for four of the programs of :mod:`bench.value_costs`, written in
jax. All numbers are processor time of the whole process, all sides in turn, the shortest of nine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax  # noqa: TID251
import jax.numpy as jnp  # noqa: TID251
import numpy as np

import xlascope_jax
from xlascope.inspect.producers import program_of
from xlascope_jax.bridge.value_probes import Magnitudes, Statistics
from xlascope_jax.bridge.value_runs import get_twin, twin_settings

#: Runs of each side, and about the seconds of each.
ROUNDS, SECONDS = 9, 0.02


def _normal(*shape: int, scale: float = 1.0) -> Any:
    return jnp.asarray((scale * np.random.default_rng(0).standard_normal(shape)).astype(np.float32))


def _elementwise(x: Any) -> Any:
    for _ in range(6):
        x = jnp.tanh(x * 1.1 + 0.1)
    return x


def _network(weights: Any, x: Any) -> Any:
    for w in weights:
        x = jax.nn.relu(x @ w)
    return (x**2).mean()


def _attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / 8) @ v


def _recurrent(w: Any, x: Any) -> Any:
    return jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ w), None), x, None, length=20)[0]


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return the four programs with their arguments."""
    weights = [_normal(256, 256, scale=0.06) for _ in range(6)]
    return {
        "element-wise, 8 MB": (_elementwise, (_normal(1 << 21),)),
        "gradient of six layers": (jax.grad(_network), (weights, _normal(128, 256))),
        "attention, 512 × 64": (_attention, (_normal(512, 64), _normal(512, 64), _normal(512, 64))),
        "scan, 20 × 64²": (_recurrent, (_normal(64, 64, scale=0.1), _normal(64, 64))),
    }


def measure_costs(function: Any, arguments: tuple[Any, ...]) -> dict[str, float]:
    """Return the processor seconds of a call, ``call``, and of its twins, ``first`` and ``full``."""
    jitted = jax.jit(function)
    host: Any = program_of(jitted, arguments).host
    call = host.probed_call()
    sides: dict[str, Callable[[], Any]] = {"call": lambda: jitted(*arguments)}
    for name, probe in (("first", Magnitudes()), ("full", Statistics())):
        twin = get_twin(call, probe, None).function
        sides[name] = lambda twin=twin: twin(call.program.consts, call.operands)
    best = dict.fromkeys(sides, float("inf"))
    with twin_settings(call.stages):
        for run in sides.values():
            jax.block_until_ready(run())
        for _ in range(ROUNDS):
            for name, run in sides.items():
                began, runs, ends = time.process_time(), 0, time.perf_counter() + SECONDS
                while time.perf_counter() < ends or not runs:
                    jax.block_until_ready(run())
                    runs += 1
                best[name] = min(best[name], (time.process_time() - began) / runs)
    return best


def main() -> None:
    """Print the table."""
    xlascope_jax.install()
    print("| jax: processor time, in calls of the program | a call | first pass | full statistics |\n|---|---|---|---|")
    for name, (function, arguments) in programs().items():
        best = measure_costs(function, arguments)
        first, full = best["first"] / best["call"], best["full"] / best["call"]
        print(f"| {name} | {1e3 * best['call']:.2f} ms | {first:.1f} | {full:.1f} |", flush=True)


if __name__ == "__main__":
    main()
