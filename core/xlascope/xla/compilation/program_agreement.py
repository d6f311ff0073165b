"""Agreement of the processes that share a program: each is about to compile and run the same one.

If they are not, the devices of some wait for messages that the others never send. So before such a program is
compiled, the processes exchange a digest of its StableHLO, without locations, and of XLA's options.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import re
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import records
from ...errors import PeerAbsentError, ProgramMismatchError
from ...ir.user_frames import user_line, where_text
from ...lru_cache import LRUCache
from ...records.watchers import watchers
from ...runtime.boot import compare_programs, program_wait_seconds
from ..processes.failure_state import require_healthy
from ..processes.job import current_membership
from ..processes.membership import Membership

#: From this time on a process that waits for others says so.
_MAX_SILENT_SECONDS = 60.0
#: The texts of programs that differ are waited for as long.
_MAX_TEXT_SECONDS = 30.0
_MAX_WAIT_SECONDS = 1e9
_MAX_LINE_CHARS = 300
#: Digests of programs to which all processes of a group have come.
_agreed_programs: LRUCache[tuple[str, str], bool] = LRUCache(4096)
_MODULE_NAME = re.compile(r"(module @\S+?)\.\d+\b")


def require_agreement(name: str, module: Any, make_options: Callable[[], Any], devices: Sequence[Any]) -> None:
    """Raise ProgramMismatchError if processes are about to run different programs on ``devices``, which they share.

    ``name`` is the program's, ``module`` its StableHLO, and ``make_options()`` returns XLA's compile options. All
    processes have to come here; one that waits for long says for whom. Raises ValueError for devices of other
    processes alone.
    """
    membership = current_membership()
    if membership is None:
        return
    processes = sorted({device.process_index for device in devices})
    if membership.process_id not in processes:
        raise ValueError(
            f"{name} would run on devices of other processes alone ({', '.join(map(str, devices))}){_here()}: give it "
            "arrays that lie on devices of this process, or of all processes"
        )
    if len(processes) == 1:
        return
    require_healthy()
    if compare_programs.value:
        _compare(membership, processes, name, module, make_options())


def _here() -> str:
    return where_text(user_line())


def _compare(membership: Membership, processes: Sequence[int], name: str, module: Any, options: Any) -> None:
    """Wait until all processes have come to this program, now or before; raise ProgramMismatchError if one cannot.

    A process may compile a program again that the others still have, so programs are found by their digests, never
    counted. Two processes differ if each waits at a program to which the other has never come.
    """
    text = _MODULE_NAME.sub(r"\1", str(module))
    digest = hashlib.sha256(text.encode() + options.SerializeAsString()).hexdigest()
    group = "-".join(map(str, processes))
    if (group, digest) in _agreed_programs:
        return
    store, me = membership.store, membership.process_id
    where, began = _here(), time.time()
    store.write(f"programs/{group}/{digest}/{me}", json.dumps({"name": name, "where": where}), overwrite=True)
    store.write(f"waiting/{group}/{me}", digest, overwrite=True)
    meeting = _Meeting(membership, group, digest, f"{name}{where}", time.monotonic())
    deadline = time.monotonic() + _MAX_WAIT_SECONDS
    try:
        for process in processes:
            store.wait_for(f"programs/{group}/{digest}/{process}", deadline, functools.partial(meeting.check, process))
    except _OtherProgramError as other:
        options_text = str(options.executable_build_options) + str(options.env_option_overrides)
        located = module.operation.get_asm(enable_debug_info=True, pretty_debug_info=True)
        texts = [text, _MODULE_NAME.sub(r"\1", located), options_text]
        raise ProgramMismatchError(meeting.explain(other.process, other.digest, texts)) from None
    store.write(f"waiting/{group}/{me}", "", overwrite=True)
    _agreed_programs[group, digest] = True
    if watchers:
        times = (0,), (began,), (time.time(),)
        records.publish(records.SharedCalls(None, name, began, digest[:16], 1, *times, event="comparison"))


@functools.lru_cache(64)
def _warn_once(message: str) -> None:
    warnings.warn(message, stacklevel=2)


class _OtherProgramError(Exception):
    """Signal that ``process`` waits at the program with ``digest``, to which this process has never come."""

    def __init__(self, process: int, digest: str) -> None:
        self.process, self.digest = process, digest


class _Meeting(NamedTuple):
    """Wait of this process at a program, described by ``label``, for the other processes of a group."""

    membership: Membership
    group: str
    digest: str
    label: str
    began: float

    def check(self, process: int) -> None:
        """Raise if ``process`` has left, waits at another program, or has not come in time. Warn after a minute."""
        self.membership.require_presence(process)
        store, me = self.membership.store, self.membership.process_id
        other = store.read_folder(f"waiting/{self.group}").get(str(process), "")
        if (
            other not in ("", self.digest)
            and str(me) not in store.read_folder(f"programs/{self.group}/{other}")
            and str(process) not in store.read_folder(f"programs/{self.group}/{self.digest}")  # it is ahead
        ):
            raise _OtherProgramError(process, other)
        waited, limit = time.monotonic() - self.began, program_wait_seconds.value
        if waited > limit:
            raise PeerAbsentError(
                f"process {me} has waited {limit} s for process {process} to come to the program {self.label}, which "
                f"both run together. Process {process} is alive and does something else.\n"
                "Let all processes call the same functions in the same order; no branch that depends on the process "
                "may decide about this one. The setting program_wait_seconds is how long a process waits."
            )
        if waited > _MAX_SILENT_SECONDS:
            _warn_once(
                f"process {me} has been waiting for more than {_MAX_SILENT_SECONDS:.0f} s for process {process} to "
                f"come to the program {self.label}, which both run together"
            )

    def explain(self, other: int, other_digest: str, texts: Sequence[str]) -> str:
        """Return the message about this program and that of process ``other``; ``texts`` are those of this one.

        They are exchanged for those of the other.
        """
        store, me = self.membership.store, self.membership.process_id
        try:
            store.write(f"texts/{self.group}/{self.digest}/{me}", json.dumps(texts))
            exchanged = store.wait_for(
                f"texts/{self.group}/{other_digest}/{other}", time.monotonic() + _MAX_TEXT_SECONDS
            )
            difference = _find_difference(texts, json.loads(exchanged or "0"), me, other)
        except Exception as error:  # the message is worth more than the reason why it is incomplete
            difference = f"The programs' texts could not be compared: {error}"
        program = json.loads(store.read_folder(f"programs/{self.group}/{other_digest}")[str(other)])
        return (
            f"processes {me} and {other} were about to run different programs together: process {me} {self.label}, "
            f"process {other} {program['name']}{program['where']}.\n{difference}\n"
            "Let nothing that a program is made of (shapes, constants, branches of Python, settings) depend on the "
            "process."
        )


def _find_difference(mine: Sequence[str], peer: Sequence[str], me: int, other: int) -> str:
    """Return the first difference of two programs: text, text with locations, options, of each process."""
    if mine[0] == peer[0]:
        changed = [line for line in difflib.ndiff(mine[2].splitlines(), peer[2].splitlines()) if line[0] in "+-"]
        return f"XLA's options differ: {'; '.join(changed)[:_MAX_LINE_CHARS]}"
    lines, other_lines = mine[0].splitlines(), peer[0].splitlines()
    first = next(
        (i for i, pair in enumerate(zip(lines, other_lines, strict=False)) if pair[0] != pair[1]),
        min(len(lines), len(other_lines)),
    )
    return "\n".join(
        f"In process {process}: {_line_at(plain, first)}{_location_at(located, plain, first)}"
        for process, plain, located in ((me, lines, mine[1]), (other, other_lines, peer[1]))
    )


def _line_at(lines: Sequence[str], index: int) -> str:
    return lines[index].strip()[:_MAX_LINE_CHARS] if index < len(lines) else "(its program ends here)"


def _location_at(located: str, plain: Sequence[str], index: int) -> str:
    """Return the file and line of the operation in line ``index`` as `` at file.py:12``, "" if it has none."""
    lines = located[located.find("module @") :].splitlines()
    if len(lines) < len(plain) or index >= len(lines):
        return ""
    label = re.search(r"\((#loc\d+)\)\s*$", lines[index])
    location = None if label is None else re.search(rf"^{label[1]} = \"?(.+?)\"?:(\d+)", located, re.MULTILINE)
    return "" if location is None else f", at {location[1]}:{location[2]}"
