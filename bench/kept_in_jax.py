"""What it does to programs of jax itself that what is worth it is kept: as jax has it, and with barriers put into it.

``python -m bench.kept_in_jax`` prints the table and puts it into REPORTS.md, where it leaves the others alone. Both are
compiled by jax, in one process, from the StableHLO that jax made, and run in turn: it is what ``what_if`` compares with
``change={"keep": "auto"}``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import xlascope_jax
from xlascope import records
from xlascope.inspect.producers import program_of
from xlascope.records import Compiled

from .kept import ROUNDS, _seconds, kernels_in
from .kinds import KINDS
from .results import replace_table
from .sides import side

PROGRAMS = (
    "transformer_12",
    "transformer_wide",
    "transformer_checkpointed",
    "mixer",
    "residual_layers",
    "residual_convolutions",
    "hessian",
    "softmax_large",
)
HEAD = [
    "| program of jax | compile: as it is | kept | kept / as it is | run: as it is | kept | kept / as it is "
    "| temporaries, kept / as it is | kernels | instructions: as it is, kept | kept |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
]


class Version(NamedTuple):
    """One version of a program: what calls it, and what is known of it."""

    call: Any
    compiled: Compiled


def versions(function: Any, arguments: Sequence[Any]) -> tuple[Version, Version]:
    """A call of jax as it is, and with what is worth it kept."""
    plain = program_of(function, tuple(arguments), {})
    kept = plain.host.changed({"keep": "auto"}, "").program
    found = []
    for program in (plain, kept):
        (compiled,) = (each for each in program.compiled() if isinstance(each, records.Compiled))
        program.host.runner()()
        found.append(Version(program.host.runner(), compiled))
    return found[0], found[1]


def row(name: str) -> str:
    """A row of the table."""
    mine = side("jax")
    made = KINDS[name](mine)
    arguments = mine.xs.tree_util.tree_map(mine.jnp.asarray, made.arguments)
    both = versions(made.function, arguments)
    rounds = [[_seconds(mine, _called(each), ()) for each in both] for _ in range(ROUNDS)]
    seconds = [statistics.median(each) for each in zip(*rounds, strict=True)]
    ratio = statistics.median(kept / plain for plain, kept in rounds)
    plain, kept = (each.compiled for each in both)
    texts = [each.hlo for each in (plain, kept)]
    return (
        f"| {name} | {plain.seconds:.2f} s | {kept.seconds:.2f} s | {kept.seconds / plain.seconds:.2f} "
        f"| {1e3 * seconds[0]:.3g} ms | {1e3 * seconds[1]:.3g} ms | {ratio:.3f} "
        f"| {_temporaries(kept) / _temporaries(plain):.2f} | {kernels_in(texts[0])}, {kernels_in(texts[1])} "
        f"| {texts[0].count(' = '):,}, {texts[1].count(' = '):,} | {len(kept.kept)} |"
    )


def _called(version: Version) -> Any:
    return lambda: version.call()


def _temporaries(compiled: Compiled) -> int:
    assert compiled.memory is not None
    return compiled.memory.temporaries or 1


def main(names: Sequence[str]) -> None:
    """The table, or rows of it."""
    xlascope_jax.install()
    began = time.perf_counter()
    lines = list(HEAD)
    for name in names or PROGRAMS:
        lines.append(row(name))
        print(lines[-1], flush=True)
    print(f"{time.perf_counter() - began:.0f} s")
    if not names:
        replace_table(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
