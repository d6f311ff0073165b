"""The JSON encoding of compilations for other targets, fusion decisions and compiler passes.

Repeated texts are stored once in a table: the decisions of a whole training step take a few hundred kilobytes.
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

#: The maximum number of decisions and of characters of a diff sent; the record has all, and the panel shows the cut.
MOST_DECISIONS = 20_000
MOST_DIFF = 20_000


def findings(records: Iterable[Record]) -> JSON:
    """Encode the answers to questions about a program: kernels on other targets, fusion decisions, passes."""
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
    """Encode a compilation: its kernels, and XLA's estimates."""
    wire: JSON = {"platform": record.platform, "devices": list(record.devices)}
    wire["kernels"] = [kernel(entry) for entry in record.kernels]
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
    """Encode the shardings of arguments and results by their names in the jaxpr.

    Shardings stated in the jaxpr itself are left out.
    """
    if traced is None or not record.mesh:
        return {}
    jaxpr = traced.jaxpr
    pairs = (*zip((*jaxpr.constants, *jaxpr.inputs), record.inputs_lie, strict=False),)
    placements = (*pairs, *zip(jaxpr.outputs, record.outputs_lie, strict=False))
    variables = jaxpr.variables
    return {
        "lies": {name: spec for name, spec in placements if spec and name in variables and not variables[name].lies}
    }


def kernel(record: Kernel) -> JSON:
    """Encode a kernel; ``reads`` are lists of the writing kernel, its result's number, the array's type and bytes."""
    wire: JSON = {"name": record.name, "kind": record.kind, "type": record.type_text, "eqns": list(record.equations)}
    wire |= {"instructions": record.instructions, "unknown": record.unknown}
    wire |= {"read": record.bytes_read, "written": record.bytes_written, "saved": record.bytes_saved}
    optional: JSON = {"layout": record.layout, "launch": record.launch, "estimate": record.estimated_seconds}
    optional["cycles"] = record.estimated_cycles
    optional["moves"] = list(record.moves)
    optional["repeats"] = record.repeats if record.repeats > 1 else 0
    optional["reads"] = [[read.kernel, read.result, read.type_text, read.bytes] for read in record.reads]
    if record.collective is not None:
        collective = record.collective
        optional["across"] = [collective.kind, collective.devices, collective.operand_bytes, collective.result_bytes]
    return wire | {name: value for name, value in optional.items() if value}


def explained(record: Explained) -> JSON:
    """Encode fusion decisions as rows.

    A row is pass, fused or not, producer, consumer, result, reason, plain explanation, seconds if fused and
    if not. Texts are indices into ``texts``; ``nodes`` holds opcode, equations and bytes by instruction name.
    """
    texts = _Texts()
    shown = record.decisions[:MOST_DECISIONS]
    steps = [_step(decision, texts) for decision in shown]
    named = {name for decision in shown for name in (decision.producer, decision.consumer)}
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
    """Encode the instructions named by decisions; return none, and a note, if the HLO cannot be parsed."""
    if not hlo:  # its record says why
        return {}, ""
    try:
        module = read_module(hlo)
    except FormatError as error:
        return {}, str(error)
    nodes = {
        instruction.name: [
            instruction.opcode,
            list(paths_in(module, instruction.name, computation.instructions)),
            instruction.bytes,
        ]
        for computation in module.computations.values()
        for instruction in computation.instructions.values()
        if instruction.name in named
    }
    return nodes, ""


def passes(record: Passes) -> JSON:
    """Encode passes with the lines that each added and removed."""
    wire: JSON = {"target": record.target, "module": record.module, "seconds": record.seconds}
    wire |= {"complete": record.complete, "note": record.note}
    return wire | {"passes": [_pass(entry) for entry in record.passes]}


def _pass(compiler_pass: Pass) -> JSON:
    wire: JSON = {
        "name": compiler_pass.name,
        "pipeline": compiler_pass.pipeline,
        "instructions": compiler_pass.instructions,
    }
    wire |= {
        "added": compiler_pass.added,
        "removed": compiler_pass.removed,
        "changed": compiler_pass.changed,
        "diff": compiler_pass.diff[:MOST_DIFF],
    }
    wire |= {"gone": list(compiler_pass.gone)} if compiler_pass.gone else {}
    wire |= {"does": words} if (words := pass_words(compiler_pass.name)) else {}
    if any(compiler_pass.lines):  # one entry per line of the diff that is sent
        wire["lines"] = [";".join(paths) for paths in compiler_pass.lines[: wire["diff"].count("\n") + 1]]
    return wire | ({"cut": len(compiler_pass.diff) - MOST_DIFF} if len(compiler_pass.diff) > MOST_DIFF else {})


class _Texts:
    """A table of distinct texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the index of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """Return the texts in order of their indices."""
        return list(self._numbers)
