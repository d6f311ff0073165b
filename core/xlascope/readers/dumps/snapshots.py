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
MAX_SNAPSHOT_BYTES = 64 * 2**20
_MAX_TOTAL_DIFF_CHARS, _MAX_DIFF_CHARS, _MAX_LINE_CHARS = 2_000_000, 100_000, 160
_NAME = re.compile(r"(.+)\.(\d{4,})\.(.+?)\.after_(.+?)(?:\.before_(.+?))?\.txt")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([^\s=]+) = (.*)")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_cached_paths = functools.lru_cache(maxsize=100_000)(absolute_paths)


class Snapshot(NamedTuple):
    """File with the HLO that was dumped between two passes of a pipeline: ``after`` one, ``before`` the next.

    ``step`` is its number in the dump; ``before`` is ``""`` at the end of a pipeline.
    """

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
    complete: bool
    equations: tuple[EquationPath, ...]


class _SnapshotModule(NamedTuple):
    """Parsed snapshot.

    ``texts`` are the instructions without metadata, by name; ``equations`` counts the instructions of each equation,
    and ``paths`` are the equations of each instruction that has any.
    """

    texts: dict[str, str]
    equations: Counter[EquationPath]
    paths: dict[str, tuple[EquationPath, ...]]


def list_snapshots(folder: Path) -> list[Snapshot]:
    """Return the snapshots in a dump folder, in order.

    If several modules were dumped, only the one with the most snapshots counts.
    """
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
    """Return what the passes changed, without passes that changed nothing; snapshots that are cut off are skipped.

    ``report_progress`` is called with the fraction that is done. Raises FormatError for a complete snapshot without
    instructions.
    """
    first, passes, all_complete, equations = "", list[Pass](), True, dict[EquationPath, None]()
    previous: _SnapshotModule | None = None
    remaining = _MAX_TOTAL_DIFF_CHARS
    for number, item in enumerate(snapshots):
        text = _read_text(item.file)
        complete = text.rstrip().endswith("}") and len(text) < MAX_SNAPSHOT_BYTES
        all_complete = all_complete and complete
        if not complete:
            continue
        current = _parse_module(text)
        if not current.texts:
            raise FormatError("an HLO snapshot", "expected instructions, found none").in_file(item.file)
        if previous is None:
            first = text
        else:
            change = _compare_snapshots(item, previous, current, min(remaining, _MAX_DIFF_CHARS))
            if change is not None:
                passes.append(change)
                remaining = max(0, remaining - len(change.diff))
        previous = current
        equations |= dict.fromkeys(current.equations)
        report_progress((number + 1) / len(snapshots))
    left_over = previous.equations if previous is not None else Counter[EquationPath]()
    return ReadPasses(first, tuple(_drop_restored(left_over, item) for item in passes), all_complete, tuple(equations))


def _drop_restored(final_equations: Counter[EquationPath], compiler_pass: Pass) -> Pass:
    """Return a pass without those of its eliminated equations that are in the program at the end.

    ``final_equations`` are the equations of the last snapshot.
    """
    return replace(compiler_pass, gone=tuple(path for path in compiler_pass.gone if path not in final_equations))


def _read_text(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MAX_SNAPSHOT_BYTES).decode(errors="replace")


def _parse_module(text: str) -> _SnapshotModule:
    """Return the instructions and the equations in the text of an HLO snapshot."""
    texts: dict[str, str] = {}
    equations: Counter[EquationPath] = Counter()
    paths: dict[str, tuple[EquationPath, ...]] = {}
    for line in text.splitlines():
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        texts[match[1]] = _METADATA.sub("", match[2])
        if op_name := _OP_NAME.search(match[2]):
            paths[match[1]] = tuple(dict.fromkeys(_cached_paths(op_name[1])))
            equations.update(paths[match[1]])
    return _SnapshotModule(texts, equations, paths)


def _compare_snapshots(snapshot: Snapshot, before: _SnapshotModule, after: _SnapshotModule, budget: int) -> Pass | None:
    """Return what a pass changed between two snapshots, None for nothing; ``budget`` limits the diff's characters."""
    removed = [name for name in before.texts if name not in after.texts]
    added = [name for name in after.texts if name not in before.texts]
    changed = [name for name, text in after.texts.items() if before.texts.get(name, text) != text]
    if not (removed or added or changed):
        return None
    differing = (
        *(("-", name) for name in removed),
        *((sign, name) for name in changed for sign in "-+"),
        *(("+", name) for name in added),
    )
    sides = {"-": before, "+": after}
    lines = list(_truncate_lines([f"{sign}{name} = {sides[sign].texts[name]}" for sign, name in differing], budget))
    return Pass(
        step=snapshot.step,
        name=snapshot.after,
        pipeline=snapshot.pipeline,
        instructions=len(after.texts),
        added=len(added),
        removed=len(removed),
        changed=len(changed),
        diff="\n".join(lines),
        gone=tuple(path for path in before.equations if path not in after.equations),
        lines=tuple(sides[sign].paths.get(name, ()) for sign, name in differing[: len(lines)]),
    )


def _truncate_lines(lines: Sequence[str], budget: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        text = line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}…"
        budget -= len(text) + 1
        if budget < 0:
            yield f"… and {len(lines) - number:,} more lines"
            return
        yield text
