"""What the compiler made of a program elsewhere, and why, as the JSON that crosses to the browser.

Decisions are tables with repeated texts kept once: those of a whole training step fit into some hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xlascope.analysis.pass_words import pass_words
from xlascope.readers import FormatError
from xlascope.readers.hlo.equations import paths_in
from xlascope.readers.hlo.text import read_module
from xlascope.records import Compiled, Explained, FusionDecision, Kernel, Pass, Passes, Record, Traced

from .wire_measured import memory

JSON = dict[str, Any]

#: Decisions and characters of a diff that are sent; the record keeps all, and the panel says what was cut.
MOST_DECISIONS = 20_000
MOST_DIFF = 20_000


def findings(records: Iterable[Record]) -> JSON:
    """What answers to questions add to a program: its kernels elsewhere, fusion decisions, passes."""
    wire: JSON = {}
    for record in records:
        match record:
            case Compiled() if record.target:
                wire.setdefault("targets", {})[record.target] = compiled(record) | memory(record)
            case Explained():
                wire.setdefault("explained", []).append(explained(record))
            case Passes():
                wire.setdefault("passes", []).append(passes(record))
    return wire


def compiled(record: Compiled) -> JSON:
    """The compiled half of a program: its kernels, and what XLA estimates."""
    wire: JSON = {"platform": record.platform, "devices": list(record.devices)}
    wire["kernels"] = [kernel(each) for each in record.kernels]
    wire |= {"flops": record.flops, "accessed": record.bytes_accessed}
    if record.memory is not None:
        wire["peak"] = record.memory.peak
    if record.notes:
        wire["notes"] = list(record.notes)
    if record.kept:
        wire["kept"] = list(record.kept)
    if record.target:
        wire |= {"target": record.target, "seconds": record.seconds}
        wire |= {"estimate": record.estimated_seconds, "by": record.estimated_by}
    return wire


def lies(traced: Traced | None, record: Compiled) -> JSON:
    """How arguments and results lie over the devices that share a program, by their names in the jaxpr; those of which
    the program itself says it are left out.
    """
    if traced is None or not record.mesh:
        return {}
    jaxpr = traced.jaxpr
    pairs = (*zip((*jaxpr.constants, *jaxpr.inputs), record.inputs_lie, strict=False),)
    every = (*pairs, *zip(jaxpr.outputs, record.outputs_lie, strict=False))
    known = jaxpr.variables
    return {"lies": {name: spec for name, spec in every if spec and name in known and not known[name].lies}}


def kernel(record: Kernel) -> JSON:
    """A kernel; ``reads`` are lists of the writing kernel, its result's number, the array's type and bytes."""
    wire: JSON = {"name": record.name, "kind": record.kind, "type": record.type_text, "eqns": list(record.equations)}
    wire |= {"instructions": record.instructions, "unknown": record.unknown}
    wire |= {"read": record.bytes_read, "written": record.bytes_written, "saved": record.bytes_saved}
    optional: JSON = {"layout": record.layout, "launch": record.launch, "estimate": record.estimated_seconds}
    optional["cycles"] = record.estimated_cycles
    optional["moves"] = list(record.moves)
    optional["repeats"] = record.repeats if record.repeats > 1 else 0
    optional["reads"] = [[each.kernel, each.result, each.type_text, each.bytes] for each in record.reads]
    if record.collective is not None:
        told = record.collective
        optional["across"] = [told.kind, told.devices, told.operand_bytes, told.result_bytes]
    return wire | {name: value for name, value in optional.items() if value}


def explained(record: Explained) -> JSON:
    """Fusion decisions as rows: pass, fused or not, producer, consumer, result, reason, plain words, seconds fused and
    not. Texts are numbers of entries in ``texts``; ``nodes`` holds opcode, equations and bytes by instruction name.
    """
    texts = _Texts()
    shown = record.decisions[:MOST_DECISIONS]
    steps = [_step(each, texts) for each in shown]
    named = {name for each in shown for name in (each.producer, each.consumer)}
    nodes, unread = _nodes(record.before, named)
    note = "; ".join(filter(None, [record.note, unread]))
    wire: JSON = {"target": record.target, "module": record.module, "seconds": record.seconds}
    wire |= {"complete": record.complete, "note": note, "cut": len(record.decisions) - len(shown)}
    if record.edge:
        wire |= {"edge": list(record.edge), "outcome": record.outcome, "answer": record.answer}
        wire["about"] = [step for step in record.about if step < len(shown)]
    return wire | {"texts": texts.all, "steps": steps, "nodes": nodes}


def _step(decision: FusionDecision, texts: _Texts) -> list[Any]:
    words = (decision.producer, decision.consumer, decision.result, decision.reason, decision.plain)
    row: list[Any] = [texts.number(decision.pass_name), int(decision.action == "fused"), *map(texts.number, words)]
    if decision.fused_seconds is not None or decision.unfused_seconds is not None:
        row += [decision.fused_seconds, decision.unfused_seconds]
    return row


def _nodes(hlo: str, named: set[str]) -> tuple[JSON, str]:
    """What is known of the instructions that decisions name; nothing, and a note, where the HLO cannot be read."""
    if not hlo:  # its record says why
        return {}, ""
    try:
        module = read_module(hlo)
    except FormatError as error:
        return {}, str(error)
    nodes = {
        each.name: [each.opcode, list(paths_in(module, each.name, computation.instructions)), each.bytes]
        for computation in module.computations.values()
        for each in computation.instructions.values()
        if each.name in named
    }
    return nodes, ""


def passes(record: Passes) -> JSON:
    """Passes with the lines that each added and removed."""
    wire: JSON = {"target": record.target, "module": record.module, "seconds": record.seconds}
    wire |= {"complete": record.complete, "note": record.note}
    return wire | {"passes": [_pass(each) for each in record.passes]}


def _pass(each: Pass) -> JSON:
    wire: JSON = {"name": each.name, "pipeline": each.pipeline, "instructions": each.instructions}
    wire |= {"added": each.added, "removed": each.removed, "changed": each.changed, "diff": each.diff[:MOST_DIFF]}
    wire |= {"gone": list(each.gone)} if each.gone else {}
    wire |= {"does": words} if (words := pass_words(each.name)) else {}
    if any(each.lines):  # as many as there are lines in what is sent of the diff
        wire["lines"] = [";".join(paths) for paths in each.lines[: wire["diff"].count("\n") + 1]]
    return wire | ({"cut": len(each.diff) - MOST_DIFF} if len(each.diff) > MOST_DIFF else {})


class _Texts:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """The texts, by number."""
        return list(self._numbers)
