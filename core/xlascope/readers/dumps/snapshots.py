"""HLO after every pass (``xla_dump_hlo_pass_re``), read into what each pass changed. One snapshot is held at a time."""

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

#: Bytes of one snapshot that are read; characters of all diffs together, of one, and of a line in it.
MOST_BYTES = 64 * 2**20
_ALL, _ONE, _LINE = 2_000_000, 100_000, 160
_NAME = re.compile(r"(.+)\.(\d{4,})\.(.+?)\.after_(.+?)(?:\.before_(.+?))?\.txt")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([^\s=]+) = (.*)")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_paths = functools.lru_cache(maxsize=100_000)(absolute_paths)


class Snapshot(NamedTuple):
    """A file with the HLO as it was after ``after`` and before ``before`` (``""`` at the end), in a pipeline."""

    file: Path
    step: int
    pipeline: str
    after: str
    before: str


class ReadPasses(NamedTuple):
    """The HLO that the first pass was given, the passes that changed something, whether every file was whole, and the
    equations that had an instruction in any of them.
    """

    first: str
    passes: tuple[Pass, ...]
    whole: bool
    seen: tuple[EquationPath, ...]


class _Module(NamedTuple):
    """One snapshot: its instructions' texts by name, how many belong to each equation, and to which each belongs."""

    texts: dict[str, str]
    equations: Counter[EquationPath]
    paths: dict[str, tuple[EquationPath, ...]]


def list_snapshots(folder: Path) -> list[Snapshot]:
    """The snapshots in a dump folder, in order; of the module that has most of them where there are several."""
    modules: dict[str, list[Snapshot]] = {}
    for file in folder.iterdir():
        match = _NAME.fullmatch(file.name)
        if match is not None:
            found = Snapshot(file, int(match[2]), match[3], match[4], match[5] or "")
            modules.setdefault(match[1], []).append(found)
    largest = max(modules.values(), key=len, default=[])
    return sorted(largest, key=lambda each: each.step)


def read_passes(snapshots: Sequence[Snapshot], tell: Callable[[float], object] = lambda share: None) -> ReadPasses:
    """What the passes changed. Passes that changed nothing are left out.

    ``tell`` hears the share that is done. Raises FormatError for a snapshot that is whole and holds no instruction.
    """
    first, passes, whole, seen = "", list[Pass](), True, dict[EquationPath, None]()
    previous: _Module | None = None
    left = _ALL
    for number, each in enumerate(snapshots):
        text = _text_of(each.file)
        complete = text.rstrip().endswith("}") and len(text) < MOST_BYTES
        whole = whole and complete
        if not complete:
            continue
        current = _module(text)
        if not current.texts:
            raise FormatError("an HLO snapshot", "expected instructions, found none").in_file(each.file)
        if previous is None:
            first = text
        else:
            made = _compared(each, previous, current, min(left, _ONE))
            if made is not None:
                passes.append(made)
                left = max(0, left - len(made.diff))
        previous = current
        seen |= dict.fromkeys(current.equations)
        tell((number + 1) / len(snapshots))
    left_over = previous.equations if previous is not None else Counter[EquationPath]()
    return ReadPasses(first, tuple(_without(left_over, each) for each in passes), whole, tuple(seen))


def _without(left_over: Counter[EquationPath], one: Pass) -> Pass:
    """A pass may take a part of a program out that a later one puts back: such equations were never gone."""
    return replace(one, gone=tuple(path for path in one.gone if path not in left_over))


def _text_of(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES).decode(errors="replace")


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


def _compared(where: Snapshot, before: _Module, after: _Module, room: int) -> Pass | None:
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
    shown = list(_shortened([f"{sign}{name} = {sides[sign].texts[name]}" for sign, name in named], room))
    return Pass(
        step=where.step,
        name=where.after,
        pipeline=where.pipeline,
        instructions=len(after.texts),
        added=len(added),
        removed=len(removed),
        changed=len(changed),
        diff="\n".join(shown),
        gone=tuple(path for path in before.equations if path not in after.equations),
        lines=tuple(sides[sign].paths.get(name, ()) for sign, name in named[: len(shown)]),
    )


def _shortened(lines: Sequence[str], room: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        short = line if len(line) <= _LINE else f"{line[:_LINE]}…"
        room -= len(short) + 1
        if room < 0:
            yield f"… and {len(lines) - number:,} more lines"
            return
        yield short
