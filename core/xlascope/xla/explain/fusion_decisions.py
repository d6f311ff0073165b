"""The fusion decisions of a compiler, with its reasons.

They come from the compiler's log, which is cheap: 0.3 s for the gradient of twelve transformer blocks, for which a
fusion dump would take 19 s on the CPU, 21 s on a GPU's compiler and five minutes on a TPU's. A GPU's compiler adds
its estimates of time in a separate dump, and gives the reasons of its last pass (kernels with several results) in
the fusion dump only, which is requested for small programs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...readers.dumps import Dump, Snapshot, list_snapshots, read_fusion_dump, read_fusion_log, with_estimates
from ...readers.format_error import KNOWN, FormatError
from ...readers.hlo.equations import executed_computations
from ...readers.hlo.text import read_module
from ...records import Explained, FusionDecision
from ..targets import CompileProgress, CompilerInput
from .dump_session import DumpSession, compile_with_dumps

#: Passes that fuse: the decisions refer to the HLO before the first of them.
_FUSION_PASSES = frozenset({"fusion", "priority-fusion", "tpu_fusion", "instruction-fusion"})
#: A GPU's compiler is asked for its fusion dump for programs of at most this much StableHLO.
MAX_FUSION_DUMP_BYTES = 8_000
_VMODULE = "instruction_fusion=5,priority_fusion=10,multi_output_fusion=5,tpu_instruction_fusion=2"
#: Enables the compilers' logs: the first two variables for CPUs and GPUs, the others for TPUs.
_LOGGING_ENVIRONMENT = {
    "TF_CPP_VMODULE": _VMODULE,
    "TF_CPP_MIN_LOG_LEVEL": "0",
    "TPU_VMODULE": _VMODULE,
    "TPU_MIN_LOG_LEVEL": "0",
    "TPU_STDERR_LOG_LEVEL": "0",
}
_BUDGET_NOTE = "the budget of {:g} s ended before the compiler did: later decisions are missing"
_NO_REASONS_NOTE = (
    "this compiler gives the reasons of MultiOutputFusion only in a dump that takes too long for a program of this size"
)


def explain_fusion(
    program: CompilerInput, *, budget: float = 10.0, watch: CompileProgress | None = None
) -> tuple[Explained, str]:
    """Return the fusion decisions of a target's compiler about a program, and the optimized HLO.

    ``budget`` is in seconds; when it ends first, the decisions logged until then are returned and the HLO is ``""``.
    ``watch`` is told of the progress. Raises what compiling for the target raises.
    """
    began, clock = time.time(), time.perf_counter()
    platform = program.target.platform
    has_fusion_dump = platform == "cuda" and len(program.module) <= MAX_FUSION_DUMP_BYTES
    overrides = [
        ("xla_dump_hlo_as_text", True),
        # The CPU's fusion pass is named like no other; all passes there cost less than what follows.
        ("xla_dump_hlo_pass_re", ".*" if platform == "cpu" else ".*fusion.*"),
        *([("xla_dump_fusion_visualization", True)] if has_fusion_dump else []),
    ]
    with compile_with_dumps(
        program, budget, overrides=overrides, environment=_LOGGING_ENVIRONMENT, watch=watch
    ) as session:
        notes = [] if session.result is not None else [_BUDGET_NOTE.format(budget)]
        dump = _read_log(session, notes)
        module_before = _module_before_fusion(session, notes)
        decisions = _add_dumps(_filter_program_decisions(dump.decisions, module_before), session, notes)
        if platform == "cuda" and not has_fusion_dump:
            notes.append(_NO_REASONS_NOTE)
        explained = Explained(
            program=program.number,
            function=program.name,
            time=began,
            seconds=time.perf_counter() - clock,
            target=program.target.name,
            module="the whole program",
            before=module_before,
            decisions=decisions,
            complete=session.result is not None and dump.complete,
            note="; ".join(notes),
        )
        return explained, session.result.hlo if session.result is not None else ""


def _read_log(session: DumpSession, notes: list[str]) -> Dump:
    """Read the decisions from the compiler's log; none, and a message in ``notes``, if its format is unknown."""
    try:
        with session.log.open(errors="replace") as lines:
            return read_fusion_log(lines)
    except FormatError as error:
        notes.append(f"no decision can be shown: {error}")
        return Dump(())


def _add_dumps(
    logged: tuple[FusionDecision, ...], session: DumpSession, notes: list[str]
) -> tuple[FusionDecision, ...]:
    """Return the decisions with the details of a GPU compiler's dumps: estimates, and the last pass's reasons.

    ``logged`` are the decisions from the compiler's log; ``notes`` gets a message about each dump that cannot be read.
    """
    for file in session.folder.glob("*priority_fusion_dump.txt"):
        logged = with_estimates(logged, _read_dump_decisions(file, session, notes))
    for file in (*session.folder.glob("*_fusion.html"), *session.folder.glob("*_fusion.pyz")):
        new = (item for item in _read_dump_decisions(file, session, notes) if item.pass_name == "MultiOutputFusion")
        logged = (*logged, *(item for item in new if item.action == "refused"))
    return tuple(replace(item, step=step) for step, item in enumerate(logged))


def _filter_program_decisions(decisions: tuple[FusionDecision, ...], hlo: str) -> tuple[FusionDecision, ...]:
    """Drop decisions about the copies of computations that a GPU's compiler makes to try a fusion.

    ``hlo`` is the module before fusion: a decision is kept if it refers to an instruction in it, or to the result of a
    decision that is kept. With ``""`` all are kept.
    """
    if not hlo:
        return decisions
    names = {name for computation in executed_computations(read_module(hlo)) for name in computation.instructions}
    retained = []
    for decision in decisions:
        if decision.producer in names or decision.consumer in names:
            retained.append(decision)
            names.add(decision.result)
    return tuple(retained)


def _read_dump_decisions(file: Path, session: DumpSession, notes: list[str]) -> tuple[FusionDecision, ...]:
    try:
        return read_fusion_dump(file).decisions
    except FormatError as error:
        if session.result is not None:  # else the compiler was stopped while writing it
            notes.append(f"estimates or reasons are missing: {_without_folder(error)}")
        return ()


def _module_before_fusion(session: DumpSession, notes: list[str]) -> str:
    """Return the HLO before the first fusion pass that changed something, or else before any; ``""`` if incomplete.

    A compiler that was stopped may have been writing it. For a compiler that finished, ``notes`` gets a message that
    says what is missing.
    """
    try:
        file = _find_last_snapshot(list_snapshots(session.folder))
        text = file.read_text(errors="replace") if file is not None else ""
        if text:
            read_module(text)
            return text
        missing = f"expected snapshots named MODULE.0001.PIPELINE.after_PASS.txt, as {KNOWN} writes them, found none"
    except FormatError as error:
        missing = str(error)
    if session.result is not None:
        notes.append(f"the program before fusion cannot be shown: {missing}")
    return ""


def _find_last_snapshot(snapshots: Sequence[Snapshot]) -> Path | None:
    for number, snapshot in enumerate(snapshots):
        if snapshot.after in _FUSION_PASSES and number:
            return snapshots[number - 1].file
    candidates = [snapshot for snapshot in snapshots if snapshot.before in _FUSION_PASSES] or snapshots[-1:]
    return candidates[0].file if candidates else None


def _without_folder(error: FormatError) -> str:
    """Return the error's text without the path of the temporary folder."""
    return str(error).rpartition("/")[2]
