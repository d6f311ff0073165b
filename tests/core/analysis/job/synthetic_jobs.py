"""Records of processes of jobs that never ran: clocks, arrivals and collectives as a test wants them."""

import random

from xlascope import records
from xlascope.analysis.job.process_records import make_digest

LINE = records.SourceRange("/home/me/train.py", 22, 4, 22, 30, "step")
TEXT = "{ lambda ; a:f32[4]. let b:f32[] = reduce_sum a in (b,) }"
#: The program of all processes, by its text.
DIGEST = make_digest("step", TEXT)


def traced(program=1, function="step", text=TEXT, reason="first call", origin="first", time=0.0):
    equation = records.Equation(records.EquationPath("0"), "reduce_sum", "", ("a",), ("b",), source=LINE)
    jaxpr = records.Jaxpr(function, (), ("a",), ("b",), {}, (equation,))
    return records.Traced(program, function, time, 0.1, jaxpr, text, reason, LINE, origin=origin)


def compiled(program=1, devices=("cpu:0", "cpu:2048")):
    collective = records.Collective("all-reduce", len(devices), 16, 16, (tuple(range(len(devices))),))
    paths = (records.EquationPath("0"),)
    sums = records.Kernel(
        "all-reduce.1", "all-reduce", "single", "f32[]", paths, 1, 0, 16, 16, 0, collective=collective
    )
    own = records.Kernel("fusion", "fusion", "loop", "f32[]", (), 1, 0, 16, 16, 0)
    return records.Compiled(program, "step", 0.0, 1.0, "miss", "cpu", devices, "m", (own, sums), "")


def executed(device, work, in_collective, program=1, calls=10):
    spans = records.Span("fusion", 0.0, work), records.Span("all-reduce.1", work, in_collective)
    times = tuple(records.KernelTime(span.kernel, calls, span.duration * calls) for span in spans)
    seen = records.DeviceTime(device, calls * (work + in_collective), times, spans)
    step = work + in_collective
    return records.Executed(program, "step", 0.0, 100, step * 100, step * calls, calls, step, (seen,))


def run(number, count, ended="ended"):
    return records.ScriptRun(
        None, "train.py", 1e9, 4.0, ("python", "train.py"), "/home/me", ended, 1.0, (), f"n{number} (Linux)",
        f"{number} of {count}",
    )  # fmt: skip


def steps(count, offsets, late=(), drift=0.0, seed=0, length=0.01, pause=0.002, noise=1e-4, start=1e9):
    """For each process the calls of the shared program: numbers, began, ended, by its own clock.

    ``offsets`` are those of the clocks, ``late`` the seconds by which each process begins after the others have ended.
    Each ends when all have begun, ``length`` later, and notices it within ``noise``.
    """
    rng = random.Random(seed)
    late = late or [0.0] * len(offsets)
    rows = [([], []) for _ in offsets]
    now = start
    for _ in range(count):
        began = [now + pause + lag + noise * rng.random() for lag in late]
        now = max(began) + length
        for (began_row, ended_row), time, offset in zip(rows, began, offsets, strict=True):
            skew = offset + (drift * (now - start) if offset else 0.0)
            began_row.append(time + skew)
            ended_row.append(now + noise * rng.random() + skew)
    return rows


def shared(row, program=1, calls=None, synchronizes=True, digest=DIGEST, numbers=None):
    began, ended = row
    numbers = tuple(range(len(began))) if numbers is None else numbers
    return records.SharedCalls(
        program, "step", began[0] if began else 0.0, digest, calls or len(began), numbers, tuple(began), tuple(ended),
        synchronizes,
    )  # fmt: skip


def job(offsets=(0.0, 0.25), count=50, **options):
    """Records of each process of a job that calls one program."""
    return [
        [run(number, len(offsets)), records.JobProcess(None, "train.py", 1e9, number, len(offsets), f"n{number}", 7),
         traced(), compiled(), shared(row)]
        for number, row in enumerate(steps(count, offsets, **options))
    ]  # fmt: skip
