"""Estimates of `inspect.scaling` for the processes of this machine, held against what 1, 2 and 4 of them measure.

    python -m bench.processes [--json FILE]

It calibrates first: all-reduces of two sizes between the devices of one process and between two processes (gloo, over
the loopback), and the rates of the CPU in one process. Then it estimates each program for 1, 2 and 4 processes, runs it
in as many, and prints both.

Other work on the machine changes how long a step takes, and more for one process than for four, which get a larger
share. So both sides are processor time: that of all processes in a step, over the number of cores, which is how long
the step takes at the least if nothing else runs and all cores are busy. The 10th percentile of the wall time of process
0 is printed beside it, with the machine's load.
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
from typing import Any, NamedTuple

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.sharding import AxisType, NamedSharding
from xlascope.sharding import PartitionSpec as P

COUNTS = (1, 2, 4)
#: Elements of the two all-reduces that give latency and bandwidth, and calls of each.
SMALL_ELEMENTS, LARGE_ELEMENTS, CALLS = 8, 1 << 20, 60
#: Rows of the matrices, and elements of the array, that give the rates of the CPU.
PRODUCT_SIZE, PASS_ELEMENTS = 1024, 1 << 22
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


class Cost(NamedTuple):
    """Cost of a call in this process, or in all: wall time (10th percentile) and processor time (mean), in seconds."""

    wall: float
    processor: float


def measure(function: Callable[..., Any], arguments: Sequence[Any], specs: Sequence[Any], calls: int) -> Cost:
    """Return the cost of a call on all devices, until its results are ready."""
    mesh = xs.make_mesh((xs.device_count(),), ("x",), (AxisType.Auto,))
    shared = [
        xs.tree.map(lambda leaf, spec=spec: xs.device_put(leaf, NamedSharding(mesh, spec)), value)
        for value, spec in zip(arguments, specs, strict=True)
    ]
    run = xs.jit(function)
    times = []
    for i in range(calls + 5):
        if i == 5:
            processor = time.process_time()
        began = time.perf_counter()
        xs.block_until_ready(run(*shared))
        times.append(time.perf_counter() - began)
    return Cost(sorted(times[5:])[calls // 10], (time.process_time() - processor) / calls)


def all_reduce_cost(elements: int) -> Cost:
    """Return the cost of a call with an all-reduce of so many float32 elements of each device."""
    mesh = xs.make_mesh((xs.device_count(),), ("x",), (AxisType.Auto,))

    def total(x: Any) -> Any:
        return xs.lax.psum(x, "x")

    mapped = xs.shard_map(total, mesh=mesh, in_specs=P("x"), out_specs=P())
    return measure(mapped, [np.ones(elements * xs.device_count(), np.float32)], [P("x")], CALLS)


def no_exchange_cost(elements: int) -> Cost:
    """Return the cost of the same call without the all-reduce."""
    mesh = xs.make_mesh((xs.device_count(),), ("x",), (AxisType.Auto,))
    mapped = xs.shard_map(lambda x: x + 1, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    return measure(mapped, [np.ones(elements * xs.device_count(), np.float32)], [P("x")], CALLS)


def cpu_costs() -> list[Cost]:
    """Return the costs of a matrix product and of a pass over memory, of which :func:`calibrate` knows the work."""
    a, x = jnp.asarray(_like(PRODUCT_SIZE, PRODUCT_SIZE)), np.ones(PASS_ELEMENTS, np.float32)
    return [measure(lambda a: a @ a, [a], [P()], CALLS), measure(lambda x: x + 1, [x], [P()], CALLS)]


def _worker(what: str) -> list[Cost]:
    match what.split(":"):
        case ["reduce"]:
            sizes = (SMALL_ELEMENTS, LARGE_ELEMENTS)
            return [cost(size) for size in sizes for cost in (all_reduce_cost, no_exchange_cost)]
        case ["rates"]:
            return cpu_costs()
        case ["program", name]:
            function, make_arguments, specs = PROGRAMS[name]
            return [measure(function, make_arguments(), specs, CALLS)]
    raise ValueError(what)


def run_processes(what: str, processes: int, devices: int = 1) -> list[Cost]:
    """Return the costs of ``_worker(what)`` in a job: wall time of process 0, processor time of all over the cores."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"XLASCOPE_NUM_CPU_DEVICES": str(devices), "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-m", "bench.processes", "--worker", what, address, str(processes)]
        files = [Path(folder) / str(number) for number in range(processes)]
        jobs = [
            subprocess.Popen([*command, str(i), str(file)], env=environment, stdout=subprocess.DEVNULL)
            for i, file in enumerate(files)
        ]
        try:
            for job in jobs:
                if job.wait(MAX_JOB_SECONDS):
                    raise RuntimeError(f"{what} in {processes} processes ended with status {job.returncode}")
        finally:
            for job in jobs:
                job.kill()
        costs = [[Cost(*pair) for pair in json.loads(file.read_text())] for file in files]
    cores = os.cpu_count() or 1
    return [Cost(row[0].wall, sum(cost.processor for cost in row) / cores) for row in zip(*costs, strict=True)]


def fit_link(costs: Sequence[Cost], members: int, source: str) -> Any:
    """Return the link that gives the processor times of a small and a large all-reduce by the model of `Topology`.

    ``costs`` are those of a call with and without the small one, and with and without the large one.
    """
    rounds, fraction = 2 * (members - 1).bit_length(), 2 * (members - 1) / members
    small = max(costs[0].processor - costs[1].processor, 1e-7)
    large = max(costs[2].processor - costs[3].processor, 2e-7)
    bandwidth = fraction * 4 * (LARGE_ELEMENTS - SMALL_ELEMENTS) / max(large - small, 1e-9)
    return inspect.Link(bandwidth, small / rounds, source)


def calibrate(today: str) -> Any:
    """Return the topology of this machine with one device in each process: its links and rates, measured now."""
    product, memory_pass = (cost.processor for cost in run_processes("rates", 1))
    source = f"processor time measured here on {today}"
    return inspect.Topology(
        *(1, max(COUNTS)),
        within=fit_link(run_processes("reduce", 1, 2), 2, f"{source}, in one process"),
        processes=fit_link(run_processes("reduce", 2), 2, f"{source}, gloo over the loopback"),
        flops=2 * PRODUCT_SIZE**3 / product,
        bytes_per_second=8 * PASS_ELEMENTS / memory_pass,
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
            (measured,) = run_processes(f"program:{name}", point.devices)
            rows.append(
                {
                    "program": name,
                    "processes": point.devices,
                    "computes": point.computing,
                    "communicates": point.communicating,
                    "step": point.step,
                    "measured": measured.processor,
                    "wall": measured.wall,
                    "load": os.getloadavg()[0],
                }
            )
            print(_row(rows[-1]), flush=True)
    return rows


def _row(row: dict[str, Any]) -> str:
    times = [row["computes"], row["communicates"], row["step"], row["measured"]]
    cells = " | ".join("" if time is None else f"{1e3 * time:.3g} ms" for time in times)
    ratio, wall = row["measured"] / row["step"], f"{1e3 * row['wall']:.3g} ms"
    return f"| {row['program']} | {row['processes']} | {cells} | {ratio:.2g} × | {wall} | {row['load']:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=5, metavar="X")
    options = parser.parse_args()
    if options.worker:
        what, address, count, number, file = options.worker
        if int(count) > 1:
            xs.distributed.initialize(address, int(count), int(number))
        Path(file).write_text(json.dumps(_worker(what)))
        return
    today = datetime.date.today().strftime("%-d %B %Y")
    topology = calibrate(today)
    print(topology)
    print("| program | processes | computes | communicates | step | measured | of the estimate | wall | load |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = compare(topology)
    if options.json:
        options.json.write_text(json.dumps({"topology": str(topology), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
