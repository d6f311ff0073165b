"""What the CPU's rule of what to keep would do on other hardware: programs compiled ahead of time, as they are and with
barriers behind what the rule finds. Nothing is run: what a TPU takes is its compiler's estimate, in cycles, and what a
GPU takes at least is a roofline estimate, bytes and operations at the chip's peaks.

``python -m bench.kept_for_targets`` makes the table anew, in REPORTS.md too; names print rows of these programs alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from xlascope import inspect, records
from xlascope.inspect.engine.traced_calls import trace_call
from xlascope.xla.lowering.module_lowering import lower
from xlascope.xla.materialization import materialize
from xlascope.xla.mlir.builder import bytecode
from xlascope.xla.targets import find_target

from .kinds import KINDS
from .results import replace_table
from .sides import side

TARGETS = ("gpu:h100", "tpu:v5e")
PROGRAMS = (
    *("transformer_12", "transformer_wide", "mixer", "residual_layers", "residual_convolutions", "normed_layers"),
    *("messages", "attention_large", "hessian"),
)
HEAD = [
    "| program | target | kept | kernels: as it is, kept | bytes moved: as it is, kept | kept / as it is "
    "| estimate: as it is, kept | kept / as it is |",
    "|---|---|---|---|---|---|---|---|",
]


class Made(NamedTuple):
    """What a target's compiler made: kernels, bytes that they move in a run, and an estimate of what that takes."""

    kernels: int
    bytes: int
    estimate: float
    unit: str


def made(name: str, target: str, *, keep: bool) -> tuple[Made, int]:
    """A program for a target, with so many values kept."""
    program = KINDS[name](side("xlascope"))
    call = trace_call(program.function, program.arguments, {})
    platform = find_target(target).platform
    lowered = lower(call.traced.program, "jit_f", platform=platform)
    kept = materialize(lowered.module, use_model=True, has_barriers=False) if keep else None
    found = inspect.target(inspect.Program(bytecode(lowered.module)), target=target)
    compiled = next(each for each in found.records if isinstance(each, records.Compiled))
    runs = [each for each in compiled.kernels if each.kind != "call"]
    cycles = sum(each.estimated_cycles or 0 for each in runs)
    seconds = sum(each.estimated_seconds or 0.0 for each in runs)
    estimate = (cycles, "cycles") if cycles else (seconds * 1e6, "µs")
    moved = sum(each.bytes_read + each.bytes_written for each in runs)
    return Made(len(runs), moved, *estimate), 0 if kept is None else len(kept.values)


def row(name: str, target: str) -> str:
    """One program for one target."""
    plain, _ = made(name, target, keep=False)
    kept, values = made(name, target, keep=True)
    return (
        f"| {name} | {target} | {values} | {plain.kernels:,}, {kept.kernels:,} "
        f"| {plain.bytes / 1e6:,.0f}, {kept.bytes / 1e6:,.0f} MB | {kept.bytes / plain.bytes:.2f} "
        f"| {plain.estimate:,.0f}, {kept.estimate:,.0f} {plain.unit} | **{kept.estimate / plain.estimate:.3f}** |"
    )


def main(names: Sequence[str]) -> None:
    """Print the rows of some programs; of all, and into REPORTS.md, when none is named."""
    lines = [*HEAD]
    print("\n".join(lines), flush=True)
    for name in names or PROGRAMS:
        for target in TARGETS:
            lines.append(row(name, target))
            print(lines[-1], flush=True)
    if not names:
        replace_table(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
