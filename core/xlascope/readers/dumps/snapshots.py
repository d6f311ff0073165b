"""Reader of HLO snapshots after every pass (``xla_dump_hlo_pass_re``); one snapshot is in memory at a time."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ...records.decisions import Pass
from ...records.op_names import absolute_paths
from ...records.paths import EquationPath
from ..format_error import FormatError

#: Maximum bytes read of one snapshot; maximum characters of all diffs together, of one, and of a line in it.
MOST_BYTES = 64 * 2**20
_ALL, _ONE, _LINE = 2_000_000, 100_000, 160
_NAME = re.compile(r"(.+)\.(\d{4,})\.(.+?)\.after_(.+?)(?:\.before_(.+?))?\.txt")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([^\s=]+) = (.*)")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_paths = functools.lru_cache(maxsize=100_000)(absolute_paths)


class Snapshot(NamedTuple):
    """Dumped HLO between the passes ``after`` and ``before`` (``""`` at the end) of a pipeline."""

    file: Path
    step: int
    pipeline: str
    after: str
    before: str


class ReadPasses(NamedTuple):
    """Changes made by the passes of a compilation.

    It holds the HLO before the first pass, the passes that changed something, whether every file was complete,
    and the equations that had an instruction in any of them.
    """

    first: str
    passes: tuple[Pass, ...]
    whole: bool
    seen: tuple[EquationPath, ...]


class _Module(NamedTuple):
    """Parsed snapshot: texts of instructions by name, instructions per equation, and the equations of each."""

    texts: dict[str, str]
    equations: Counter[EquationPath]
    paths: dict[str, tuple[EquationPath, ...]]


def list_snapshots(folder: Path) -> list[Snapshot]:
    """Return the snapshots in a dump folder, in order; of several modules the one with the most snapshots."""
    modules: dict[str, list[Snapshot]] = {}
    for file in folder.iterdir():
        match = _NAME.fullmatch(file.name)
        if match is not None:
            snapshot_file = Snapshot(file, int(match[2]), match[3], match[4], match[5] or "")
            modules.setdefault(match[1], []).append(snapshot_file)
    largest = max(modules.values(), key=len, default=[])
    return sorted(largest, key=lambda snapshot: snapshot.step)


def read_passes(
    snapshots: Sequence[Snapshot], report_progress: Callable[[float], object] = lambda share: None
) -> ReadPasses:
    """Return what the passes changed, without passes that changed nothing.

    ``report_progress`` is called with the fraction that is done. Raises FormatError for a complete snapshot
    without instructions.
    """
    first, passes, all_complete, equations = "", list[Pass](), True, dict[EquationPath, None]()
    previous: _Module | None = None
    remaining = _ALL
    for number, item in enumerate(snapshots):
        text = _text_of(item.file)
        complete = text.rstrip().endswith("}") and len(text) < MOST_BYTES
        all_complete = all_complete and complete
        if not complete:
            continue
        current = _module(text)
        if not current.texts:
            raise FormatError("an HLO snapshot", "expected instructions, found none").in_file(item.file)
        if previous is None:
            first = text
        else:
            change = _compared(item, previous, current, min(remaining, _ONE))
            if change is not None:
                passes.append(change)
                remaining = max(0, remaining - len(change.diff))
        previous = current
        equations |= dict.fromkeys(current.equations)
        report_progress((number + 1) / len(snapshots))
    left_over = previous.equations if previous is not None else Counter[EquationPath]()
    return ReadPasses(first, tuple(_without(left_over, item) for item in passes), all_complete, tuple(equations))


def _without(final_equations: Counter[EquationPath], compiler_pass: Pass) -> Pass:
    """Remove the equations that a later pass restored from those that a pass eliminated."""
    return replace(compiler_pass, gone=tuple(path for path in compiler_pass.gone if path not in final_equations))


def _text_of(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MOST_BYTES).decode(errors="replace")


def _module(text: str) -> _Module:
    texts: dict[str, str] = {}
    equations: Counter[EquationPath] = Counter()
    paths: dict[str, tuple[EquationPath, ...]] = {}
    for line in text.splitlines():
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        texts[match[1]] = _METADATA.sub("", match[2])
        if named := _OP_NAME.search(match[2]):
            paths[match[1]] = tuple(dict.fromkeys(_paths(named[1])))
            equations.update(paths[match[1]])
    return _Module(texts, equations, paths)


def _compared(snapshot: Snapshot, before: _Module, after: _Module, budget: int) -> Pass | None:
    removed = [name for name in before.texts if name not in after.texts]
    added = [name for name in after.texts if name not in before.texts]
    changed = [name for name, text in after.texts.items() if before.texts.get(name, text) != text]
    if not (removed or added or changed):
        return None
    named = (
        *(("-", name) for name in removed),
        *((sign, name) for name in changed for sign in "-+"),
        *(("+", name) for name in added),
    )
    sides = {"-": before, "+": after}
    shown = list(_shortened([f"{sign}{name} = {sides[sign].texts[name]}" for sign, name in named], budget))
    return Pass(
        step=snapshot.step,
        name=snapshot.after,
        pipeline=snapshot.pipeline,
        instructions=len(after.texts),
        added=len(added),
        removed=len(removed),
        changed=len(changed),
        diff="\n".join(shown),
        gone=tuple(path for path in before.equations if path not in after.equations),
        lines=tuple(sides[sign].paths.get(name, ()) for sign, name in named[: len(shown)]),
    )


def _shortened(lines: Sequence[str], budget: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        text = line if len(line) <= _LINE else f"{line[:_LINE]}…"
        budget -= len(text) + 1
        if budget < 0:
            yield f"… and {len(lines) - number:,} more lines"
            return
        yield text
