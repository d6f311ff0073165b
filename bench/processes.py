"""Estimates of `inspect.scaling` for the processes of this machine, held against what 1, 2 and 4 of them measure.

    python -m bench.processes [--json FILE]

It calibrates first: all-reduces of two sizes between the devices of one process and between two processes (gloo, over
the loopback), and the rates of the CPU in one process. Then it estimates each program for 1, 2 and 4 processes, runs it
in as many, and prints both. Times are the 10th percentiles of calls in process 0, which other work on the machine
disturbs least; its load is printed with them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.sharding import AxisType, NamedSharding
from xlascope.sharding import PartitionSpec as P

COUNTS = (1, 2, 4)
#: Elements of the two all-reduces that give latency and bandwidth, and calls of each.
SMALL_ELEMENTS, LARGE_ELEMENTS, CALLS = 8, 1 << 20, 60
MAX_JOB_SECONDS = 300
ROWS, WIDTH, HIDDEN = 256, 256, 1024


def digits_step(w: Any, x: Any, y: Any) -> Any:
    """Return the weights of a small classifier after one step of gradient descent."""

    def loss(w: Any) -> Any:
        scores = xs.nn.relu(x @ w[0]) @ w[1]
        return -jnp.mean(jnp.sum(y * xs.nn.log_softmax(scores), 1))

    return [a - 0.5 * g for a, g in zip(w, xs.grad(loss)(w), strict=True)]


def mlp_step(w: Any, x: Any, y: Any) -> Any:
    """Return the weights of a network of three layers after one step of gradient descent."""

    def loss(w: Any) -> Any:
        hidden = jnp.tanh(jnp.tanh(x @ w[0]) @ w[1])
        return jnp.mean((hidden @ w[2] - y) ** 2)

    return [a - 0.1 * g for a, g in zip(w, xs.grad(loss)(w), strict=True)]


def tensor_product(x: Any, a: Any, b: Any) -> Any:
    """Return two matrix products, of which the second sums over the devices."""
    return jnp.tanh(x @ a) @ b


def _like(*shape: int) -> np.ndarray[Any, Any]:
    return np.full(shape, 0.01, np.float32)


#: By name: the function, its arguments, and how each lies over the axis ``x``.
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], tuple[Any, ...]]] = {
    "digits, data-parallel": (
        digits_step,
        lambda: ([_like(64, 32), _like(32, 10)], _like(1024, 64), _like(1024, 10)),
        (P(), P("x"), P("x")),
    ),
    "MLP, data-parallel": (
        mlp_step,
        lambda: (
            [_like(WIDTH, HIDDEN), _like(HIDDEN, HIDDEN), _like(HIDDEN, WIDTH)],
            *(_like(ROWS, WIDTH), _like(ROWS, WIDTH)),
        ),
        (P(), P("x"), P("x")),
    ),
    "products, tensor-parallel": (
        tensor_product,
        lambda: (_like(ROWS, 1024), _like(1024, 4096), _like(4096, 1024)),
        (P(), P(None, "x"), P("x", None)),
    ),
}  # fmt: skip


def measure(function: Callable[..., Any], arguments: Sequence[Any], specs: Sequence[Any], calls: int) -> float:
    """Return the 10th percentile of the seconds of a call on all devices, until its results are ready."""
    mesh = xs.make_mesh((xs.device_count(),), ("x",), (AxisType.Auto,))
    shared = [
        xs.tree.map(lambda leaf, spec=spec: xs.device_put(leaf, NamedSharding(mesh, spec)), value)
        for value, spec in zip(arguments, specs, strict=True)
    ]
    run = xs.jit(function)
    times = []
    for _ in range(calls + 5):
        began = time.perf_counter()
        xs.block_until_ready(run(*shared))
        times.append(time.perf_counter() - began)
    return sorted(times[5:])[calls // 10]


def all_reduce_seconds(elements: int) -> float:
    """Return the seconds of a call with an all-reduce of so many float32 elements of each device."""
    mesh = xs.make_mesh((xs.device_count(),), ("x",), (AxisType.Auto,))

    def total(x: Any) -> Any:
        return xs.lax.psum(x, "x")

    mapped = xs.shard_map(total, mesh=mesh, in_specs=P("x"), out_specs=P())
    return measure(mapped, [np.ones(elements * xs.device_count(), np.float32)], [P("x")], CALLS)


def no_exchange_seconds(elements: int) -> float:
    """Return the seconds of the same call without the all-reduce."""
    mesh = xs.make_mesh((xs.device_count(),), ("x",), (AxisType.Auto,))
    mapped = xs.shard_map(lambda x: x + 1, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    return measure(mapped, [np.ones(elements * xs.device_count(), np.float32)], [P("x")], CALLS)


def cpu_rates() -> tuple[float, float]:
    """Return floating-point operations and bytes per second of this machine's CPU, in one process."""
    size, elements = 1024, 1 << 22
    a = jnp.asarray(_like(size, size))
    product = measure(lambda a: a @ a, [a], [P()], CALLS)
    x = np.ones(elements, np.float32)
    copy = measure(lambda x: x + 1, [x], [P()], CALLS)
    return 2 * size**3 / product, 8 * elements / copy


def _worker(what: str) -> Any:
    match what.split(":"):
        case ["reduce"]:
            return [max(all_reduce_seconds(n) - no_exchange_seconds(n), 1e-7) for n in (SMALL_ELEMENTS, LARGE_ELEMENTS)]
        case ["rates"]:
            return cpu_rates()
        case ["program", name]:
            function, make_arguments, specs = PROGRAMS[name]
            return measure(function, make_arguments(), specs, CALLS)
    raise ValueError(what)


def run_processes(what: str, processes: int, devices: int = 1) -> Any:
    """Return what ``_worker(what)`` gives in process 0 of a job of so many processes with so many devices each."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.json"
        environment = os.environ | {"XLASCOPE_NUM_CPU_DEVICES": str(devices), "JAX_PLATFORMS": "cpu"}
        jobs = [
            subprocess.Popen(
                [sys.executable, "-m", "bench.processes", "--worker", what, address, str(processes), str(i), str(file)],
                env=environment,
                stdout=subprocess.DEVNULL,
            )
            for i in range(processes)
        ]
        try:
            for job in jobs:
                if job.wait(MAX_JOB_SECONDS):
                    raise RuntimeError(f"{what} in {processes} processes ended with status {job.returncode}")
        finally:
            for job in jobs:
                job.kill()
        return json.loads(file.read_text())


def fit_link(seconds: Sequence[float], members: int, source: str) -> Any:
    """Return the link that gives these times of the small and the large all-reduce by the model of `Topology`."""
    rounds, fraction = 2 * (members - 1).bit_length(), 2 * (members - 1) / members
    small, large = seconds
    bandwidth = fraction * 4 * (LARGE_ELEMENTS - SMALL_ELEMENTS) / max(large - small, 1e-9)
    return inspect.Link(bandwidth, small / rounds, source)


def calibrate(today: str) -> Any:
    """Return the topology of this machine with one device in each process: its links and rates, measured now."""
    flops, rate = run_processes("rates", 1)
    source = f"measured here on {today}"
    within = fit_link(run_processes("reduce", 1, 2), 2, f"{source}, in one process")
    between = fit_link(run_processes("reduce", 2), 2, f"{source}, gloo over the loopback")
    return inspect.Topology(
        *(1, max(COUNTS)),
        within=within,
        processes=between,
        flops=flops,
        bytes_per_second=rate,
        rates_source=source,
        cores=os.cpu_count(),
    )


def compare(topology: Any) -> list[dict[str, Any]]:
    """Return for each program and number of processes the estimate and the measured seconds of a step."""
    rows = []
    for name, (function, make_arguments, specs) in PROGRAMS.items():
        types = xs.tree.map(lambda leaf: xs.ShapeDtypeStruct(leaf.shape, leaf.dtype), make_arguments())
        targets = [f"cpu:{count}" for count in COUNTS]
        answer = inspect.scaling(function, *types, targets=targets, mesh={"x": None}, specs=specs, topology=topology)
        for point in answer.records[-1].points:
            measured = run_processes(f"program:{name}", point.devices)
            rows.append(
                {
                    "program": name,
                    "processes": point.devices,
                    "computes": point.computing,
                    "communicates": point.communicating,
                    "step": point.step,
                    "measured": measured,
                    "load": os.getloadavg()[0],
                }
            )
            print(_row(rows[-1]), flush=True)
    return rows


def _row(row: dict[str, Any]) -> str:
    times = [row["computes"], row["communicates"], row["step"], row["measured"]]
    cells = " | ".join("" if time is None else f"{1e3 * time:.3g} ms" for time in times)
    ratio = row["measured"] / row["step"] if row["step"] else float("nan")
    return f"| {row['program']} | {row['processes']} | {cells} | {ratio:.2g} × | {row['load']:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=5, metavar="X")
    options = parser.parse_args()
    if options.worker:
        what, address, count, number, file = options.worker
        if int(count) > 1:
            xs.distributed.initialize(address, int(count), int(number))
        found = _worker(what)
        if number == "0":
            Path(file).write_text(json.dumps(found))
        return
    today = datetime.date.today().strftime("%-d %B %Y")
    topology = calibrate(today)
    print(topology)
    print("| program | processes | computes | communicates | step | measured | measured / estimate | load |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = compare(topology)
    if options.json:
        options.json.write_text(json.dumps({"topology": str(topology), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
