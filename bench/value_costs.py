"""What the values of a call cost: its twins of the first pass and of full statistics, in calls of the program.

``python -m bench value_costs`` prints both tables: the twins of twelve programs, and loops of steps with nobody
watching and watched by ``xlascope.watch_values`` in turn. All numbers are processor time of the whole process, because
others' work does not count there; of repeated runs the shortest counts, of loops the median of the ratios.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.inspect.engine.traced_calls import trace_call
from xlascope.inspect.engine.value_probes import Magnitudes, Statistics
from xlascope.inspect.engine.value_runs import twin_executable
from xlascope.inspect.engine.value_twin import twin_of

#: Runs of each side, and about the seconds of each.
ROUNDS, SECONDS = 9, 0.02
#: Pairs of loops, and about the seconds of each.
PAIRS, LOOP_SECONDS = 10, 1.0


def _normal(*shape: int, scale: float = 1.0) -> Any:
    return jnp.asarray((scale * np.random.default_rng(0).standard_normal(shape)).astype(np.float32))


def _elementwise(x: Any) -> Any:
    for _ in range(6):
        x = jnp.tanh(x * 1.1 + 0.1)
    return x


def _layer_norm(x: Any, gain: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return gain * centered / jnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)


def _network(weights: Any, x: Any) -> Any:
    for w in weights:
        x = xs.nn.relu(x @ w)
    return (x**2).mean()


def _attention(q: Any, k: Any, v: Any) -> Any:
    return xs.nn.softmax(q @ k.T / 8) @ v


def _recurrent(w: Any, x: Any) -> Any:
    return lax.scan(lambda carry, _: (jnp.tanh(carry @ w), None), x, None, length=20)[0]


def _lstm(w: Any, x: Any) -> Any:
    def cell(state: Any, _: Any) -> tuple[Any, Any]:
        h, c = state
        i, f, g, o = jnp.split(h @ w, 4, -1)
        c = xs.nn.sigmoid(f) * c + xs.nn.sigmoid(i) * jnp.tanh(g)
        return (xs.nn.sigmoid(o) * jnp.tanh(c), c), None

    return lax.scan(cell, (x, x), None, length=20)[0][0].mean()


def _leapfrog(x: Any) -> Any:
    def step(_: int, state: Any) -> Any:
        place, momentum = state
        momentum = momentum - 0.01 * place
        return place + 0.02 * momentum, momentum - 0.01 * place

    return lax.fori_loop(0, 20, step, (x, x))


def _converge(x: Any) -> Any:
    return lax.while_loop(lambda x: jnp.max(jnp.abs(x)) > 1e-3, lambda x: 0.5 * jnp.sin(x), x)


def _convolution(x: Any, kernel: Any) -> Any:
    return xs.nn.relu(lax.conv(x, kernel, (1, 1), "SAME")).mean()


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return the twelve programs with their arguments."""
    weights = [_normal(256, 256, scale=0.06) for _ in range(6)]
    return {
        "element-wise, 8 MB": (_elementwise, (_normal(1 << 21),)),
        "element-wise, 32 kB": (_elementwise, (_normal(1 << 13),)),
        "layer norm, 8 MB": (_layer_norm, (_normal(2048, 1024), _normal(1024))),
        "gradient of six layers": (xs.grad(_network), (weights, _normal(128, 256))),
        "attention, 512 × 64": (_attention, (_normal(512, 64), _normal(512, 64), _normal(512, 64))),
        "convolution, gradient": (xs.grad(_convolution), (_normal(8, 8, 32, 32), _normal(16, 8, 3, 3))),
        "scan, 20 × 64²": (_recurrent, (_normal(64, 64, scale=0.1), _normal(64, 64))),
        "scan, 20 × 16²": (_recurrent, (_normal(16, 16, scale=0.2), _normal(16, 16))),
        "LSTM, 20 steps": (_lstm, (_normal(32, 128, scale=0.2), _normal(16, 32))),
        "LSTM, gradient": (xs.grad(_lstm), (_normal(32, 128, scale=0.2), _normal(16, 32))),
        "fori_loop, 20 × 64 numbers": (_leapfrog, (_normal(64),)),
        "while_loop, 32 kB": (_converge, (_normal(1 << 13),)),
    }


def measure_costs(function: Any, arguments: tuple[Any, ...]) -> dict[str, float]:
    """Return the processor seconds of a call, ``call``, and of its twins, ``first`` and ``full``."""
    call = trace_call(xs.jit(function), arguments, {})
    sides = {"call": call.executable()}
    for name, probe in (("first", Magnitudes()), ("full", Statistics())):
        sides[name] = twin_executable(call, twin_of(call.traced.program, probe))
    operands = {name: call.put_operands(executable) for name, executable in sides.items()}
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(ROUNDS):
        for name, executable in sides.items():
            began, runs, ends = time.process_time(), 0, time.perf_counter() + SECONDS
            while time.perf_counter() < ends or not runs:
                for result in executable(operands[name], call.avals):
                    result.block_until_ready()
                runs += 1
            best[name] = min(best[name], (time.process_time() - began) / runs)
    return best


def table() -> list[str]:
    """Return the lines of both tables."""
    lines = ["| values of a call, processor time | a call | first pass | full statistics |", "|---|---|---|---|"]
    for name, (function, arguments) in programs().items():
        best = measure_costs(function, arguments)
        first, full = best["first"] / best["call"], best["full"] / best["call"]
        lines.append(f"| {name} | {1e3 * best['call']:.2f} ms | {first:.1f} calls | {full:.1f} calls |")
    return [*lines, "", *_watched_table()]


def _watched_table() -> list[str]:
    lines = [
        "| a step watched by `watch_values` | a call | watched / unwatched, processor time | by its own measure |",
        "|---|---|---|---|",
    ]
    for size, depth, rows in ((64, 3, 64), (128, 4, 128), (256, 6, 256)):
        seconds, ratios, shares = measure_watching(size, depth, rows)
        low, _, high = statistics.quantiles(ratios, n=4)
        ratio = f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"
        title = f"{depth} layers of {size}, {rows} rows"
        lines.append(f"| {title} | {1e3 * seconds:.2f} ms | {ratio} | {1 + statistics.median(shares):.3f} |")
    return lines


def measure_watching(size: int, depth: int, rows: int) -> tuple[float, list[float], list[float]]:
    """Return the processor seconds of a call, the ratios of loops watched and not, and the shares that were said."""

    def step(weights: Any, x: Any) -> Any:
        value, gradients = xs.value_and_grad(_network)(weights, x)
        return [w - 1e-3 * g for w, g in zip(weights, gradients, strict=True)], value

    jitted, x = xs.jit(step), _normal(rows, size)
    weights = [_normal(size, size, scale=size**-0.5) for _ in range(depth)]
    calls = max(round(LOOP_SECONDS / max(_run(jitted, weights, x, 50) / 50, 1e-6)), 50)
    unwatched, ratios, shares = [], [], []
    for _ in range(PAIRS):
        unwatched.append(_run(jitted, weights, x, calls))
        with xs.watch_values(jitted) as watched:
            _run(jitted, weights, x, 50)
            ratios.append(_run(jitted, weights, x, calls) / unwatched[-1])
        shares.append(watched.history.lost_share)
    return statistics.median(unwatched) / calls, ratios, shares


def _run(step: Any, weights: Any, x: Any, calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        weights, value = step(weights, x)
    value.block_until_ready()
    return time.process_time() - began


if __name__ == "__main__":
    print("\n".join(table()))
