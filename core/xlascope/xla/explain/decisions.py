"""The fusion decisions of a compiler, with its reasons.

They come from the compiler's log, which costs next to nothing: 0.3 s for the gradient of twelve transformer blocks, of
which a fusion dump would take 19 s on the CPU, 21 s on a GPU's compiler and five minutes on a TPU's. A GPU's compiler
adds its estimates of time in a dump of their own, and gives the reasons of its last pass (kernels with several results)
in the fusion dump only, which is asked of small programs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...readers.dumps import Dump, Snapshot, list_snapshots, read_fusion_dump, read_fusion_log, with_estimates
from ...readers.format_error import KNOWN, FormatError
from ...readers.hlo.equations import running_computations
from ...readers.hlo.text import read_module
from ...records import Explained, FusionDecision
from ..targets import CompilerInput, Watch
from .session import Session, listened

#: Passes that decide what is fused: the HLO before the first of them is where the decisions begin.
_FUSION_PASSES = frozenset({"fusion", "priority-fusion", "tpu_fusion", "instruction-fusion"})
#: Bytes of StableHLO up to which a GPU's compiler is asked for its fusion dump.
SMALL = 8_000
_SPOKEN = "instruction_fusion=5,priority_fusion=10,multi_output_fusion=5,tpu_instruction_fusion=2"
#: What makes compilers speak: the CPU's and GPUs' listen to the first two, a TPU's to the others.
_ENVIRONMENT = {
    "TF_CPP_VMODULE": _SPOKEN,
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TPU_VMODULE": _SPOKEN,
    "TPU_MIN_LOG_LEVEL": "0",
    "TPU_STDERR_LOG_LEVEL": "0",
}
_LATE = "the budget of {:g} s ended before the compiler did: later decisions are missing"
_NO_REASONS = (
    "this compiler gives the reasons of MultiOutputFusion only in a dump that takes too long for a program of this size"
)


def explain(given: CompilerInput, *, budget: float = 10.0, watch: Watch | None = None) -> tuple[Explained, str]:
    """The decisions of a target's compiler about a program, and the optimized HLO (``""`` when the budget ended first).

    ``budget`` is in seconds; what was heard until then is told. Raises what compiling for the target raises.
    """
    began, clock = time.time(), time.perf_counter()
    platform = given.target.platform
    pictures = platform == "cuda" and len(given.module) <= SMALL
    overrides = [
        ("xla_dump_hlo_as_text", True),
        # The CPU's fusion pass is named like no other; all passes there cost less than what follows.
        ("xla_dump_hlo_pass_re", ".*" if platform == "cpu" else ".*fusion.*"),
        *([("xla_dump_fusion_visualization", True)] if pictures else []),
    ]
    with listened(given, budget, overrides=overrides, environment=_ENVIRONMENT, watch=watch) as session:
        notes = [] if session.built is not None else [_LATE.format(budget)]
        heard = _heard(session, notes)
        before = _before(session, notes)
        decisions = _with_dumps(_of_the_program(heard.decisions, before), session, notes)
        if platform == "cuda" and not pictures:
            notes.append(_NO_REASONS)
        explained = Explained(
            program=given.number,
            function=given.name,
            time=began,
            seconds=time.perf_counter() - clock,
            target=given.target.name,
            module="the whole program",
            before=before,
            decisions=decisions,
            complete=session.built is not None and heard.complete,
            note="; ".join(notes),
        )
        return explained, session.built.hlo if session.built is not None else ""


def _heard(session: Session, notes: list[str]) -> Dump:
    """What the log tells; nothing, and a note, where it speaks in other words."""
    try:
        with session.log.open(errors="replace") as lines:
            return read_fusion_log(lines)
    except FormatError as error:
        notes.append(f"no decision can be shown: {error}")
        return Dump(())


def _with_dumps(heard: tuple[FusionDecision, ...], session: Session, notes: list[str]) -> tuple[FusionDecision, ...]:
    """The decisions with what a GPU's compiler says in its dumps: estimates, and the last pass's reasons."""
    for file in session.folder.glob("*priority_fusion_dump.txt"):
        heard = with_estimates(heard, _decisions_in(file, session, notes))
    for file in (*session.folder.glob("*_fusion.html"), *session.folder.glob("*_fusion.pyz")):
        new = (each for each in _decisions_in(file, session, notes) if each.pass_name == "MultiOutputFusion")
        heard = (*heard, *(each for each in new if each.action == "refused"))
    return tuple(replace(each, step=step) for step, each in enumerate(heard))


def _of_the_program(heard: tuple[FusionDecision, ...], before: str) -> tuple[FusionDecision, ...]:
    """Without what was decided in copies that a GPU's compiler makes of parts, to see what would become of them."""
    if not before:
        return heard
    known = {name for computation in running_computations(read_module(before)) for name in computation.instructions}
    found = []
    for each in heard:
        if each.producer in known or each.consumer in known:
            found.append(each)
            known.add(each.result)
    return tuple(found)


def _decisions_in(file: Path, session: Session, notes: list[str]) -> tuple[FusionDecision, ...]:
    try:
        return read_fusion_dump(file).decisions
    except FormatError as error:
        if session.built is not None:  # else it was stopped while it was written
            notes.append(f"estimates or reasons are missing: {_named(error)}")
        return ()


def _before(session: Session, notes: list[str]) -> str:
    """The HLO just before the first fusion pass that changed something, or else before any; ``""`` if it is not whole.

    A compiler that was stopped may have been writing it. Of one that ended a note says what is missing.
    """
    try:
        file = _last_before_fusion(list_snapshots(session.folder))
        text = file.read_text(errors="replace") if file is not None else ""
        if text:
            read_module(text)
            return text
        missing = f"expected snapshots named MODULE.0001.PIPELINE.after_PASS.txt, as {KNOWN} writes them, found none"
    except FormatError as error:
        missing = str(error)
    if session.built is not None:
        notes.append(f"the program before fusion cannot be shown: {missing}")
    return ""


def _last_before_fusion(snapshots: Sequence[Snapshot]) -> Path | None:
    for number, each in enumerate(snapshots):
        if each.after in _FUSION_PASSES and number:
            return snapshots[number - 1].file
    waiting = [each for each in snapshots if each.before in _FUSION_PASSES] or snapshots[-1:]
    return waiting[0].file if waiting else None


def _named(error: FormatError) -> str:
    """The error without the temporary folder that nobody finds again."""
    return str(error).rpartition("/")[2]
