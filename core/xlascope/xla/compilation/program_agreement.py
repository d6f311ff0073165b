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
from typing import Any

from ...errors import ProgramMismatchError
from ...ir.user_frames import user_line, where_text
from ...runtime.boot import compare_programs
from ..processes.failure_state import require_healthy
from ..processes.job import current_membership
from ..processes.membership import Membership

#: From this time on a process that waits for others says so.
_MAX_SILENT_SECONDS = 60.0
#: The texts of programs that differ are waited for as long.
_MAX_TEXT_SECONDS = 30.0
_MAX_WAIT_SECONDS = 1e9
_MAX_LINE_CHARS = 300
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
    text = _MODULE_NAME.sub(r"\1", str(module))
    digest = hashlib.sha256(text.encode() + options.SerializeAsString()).hexdigest()
    mine = {"digest": digest, "name": name, "where": _here()}
    check = functools.partial(_check_waiting, membership, name, mine["where"], [time.monotonic()])
    answers = membership.store.gather("programs", json.dumps(mine), processes, _MAX_WAIT_SECONDS, check)
    programs = {process: json.loads(answer) for process, answer in answers.items()}
    if len({program["digest"] for program in programs.values()}) > 1:
        options_text = str(options.executable_build_options) + str(options.env_option_overrides)
        located = module.operation.get_asm(enable_debug_info=True, pretty_debug_info=True)
        texts = json.dumps([text, _MODULE_NAME.sub(r"\1", located), options_text])
        raise ProgramMismatchError(_explain(membership, processes, programs, texts))


def _check_waiting(membership: Membership, name: str, where: str, since: list[float], process: int) -> None:
    """Raise PeerLostError if ``process`` has left; warn once if it lets the others wait for long."""
    membership.require_presence(process)
    if since and time.monotonic() - since[0] > _MAX_SILENT_SECONDS:
        since.clear()
        warnings.warn(
            f"process {membership.process_id} has been waiting for {_MAX_SILENT_SECONDS:.0f} s for process {process} "
            f"to come to the program {name}{where}, which both run together",
            stacklevel=2,
        )


def _explain(membership: Membership, processes: Sequence[int], programs: dict[int, Any], texts: str) -> str:
    """Return the message about processes with different programs, each described in ``programs``.

    ``texts`` are those of this process's program, which are exchanged for those of the other.
    """
    me = membership.process_id
    other = next(process for process in processes if programs[process]["digest"] != programs[me]["digest"])
    try:
        exchanged = membership.store.gather("texts", texts, processes, _MAX_TEXT_SECONDS)
        difference = _find_difference(json.loads(texts), json.loads(exchanged[other]), me, other)
    except Exception as error:  # the message is worth more than the reason why it is incomplete
        difference = f"The programs' texts could not be compared: {error}"
    described = [
        f"process {process} {programs[process]['name']}{programs[process]['where']}" for process in (me, other)
    ]
    return (
        f"processes {me} and {other} were about to run different programs together: {', '.join(described)}.\n"
        f"{difference}\n"
        "Let nothing that a program is made of (shapes, constants, branches of Python, settings) depend on the process."
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
    lines = located.splitlines()
    if len(lines) < len(plain) or index >= len(lines):
        return ""
    match = re.search(r'"([^"]+\.py|<[^"]+>)":(\d+)', lines[index][len(plain[index]) :])
    return "" if match is None else f", at {match[1]}:{match[2]}"
