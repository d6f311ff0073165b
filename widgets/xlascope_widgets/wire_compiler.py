"""The JSON encoding of compilations for other targets, fusion decisions and compiler passes.

Repeated texts are stored once in a table: the decisions of a whole training step take a few hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xlascope.analysis.pass_descriptions import describe_pass
from xlascope.readers import FormatError
from xlascope.readers.hlo.equations import equation_paths
from xlascope.readers.hlo.text import read_module
from xlascope.records import Compiled, Explained, FusionDecision, Kernel, Pass, Passes, Record, Traced

from .wire_measured import encode_memory

JSON = dict[str, Any]

#: The maximum number of decisions and of characters of a diff sent; the record has all, and the panel shows the cut.
MAX_DECISIONS = 20_000
MAX_DIFF_CHARS = 20_000


def encode_findings(records: Iterable[Record]) -> JSON:
    """Encode the answers to questions about a program: kernels on other targets, fusion decisions, passes."""
    wire: JSON = {}
    for record in records:
        match record:
            case Compiled() if record.target:
                wire.setdefault("targets", {})[record.target] = encode_compiled(record) | encode_memory(record)
            case Explained():
                wire.setdefault("explained", []).append(encode_explained(record))
            case Passes():
                wire.setdefault("passes", []).append(encode_passes(record))
    return wire


def encode_compiled(record: Compiled) -> JSON:
    """Encode a compilation: its kernels, and XLA's estimates."""
    wire: JSON = {"platform": record.platform, "devices": list(record.devices)}
    wire["kernels"] = [encode_kernel(entry) for entry in record.kernels]
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


def encode_shardings(traced: Traced | None, record: Compiled) -> JSON:
    """Encode the shardings of arguments and results by their names in the jaxpr; empty if the program has no mesh.

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


def encode_kernel(record: Kernel) -> JSON:
    """Encode a kernel; ``reads`` are lists of the writing kernel, its result's number, the array's type and bytes."""
    wire: JSON = {"name": record.name, "kind": record.kind, "type": record.type_text, "eqns": list(record.equations)}
    wire |= {"instructions": record.instructions, "unknown": record.unknown}
    wire |= {"read": record.bytes_read, "written": record.bytes_written, "saved": record.bytes_saved}
    optional: JSON = {"layout": record.layout, "launch": record.launch, "estimate": record.estimated_seconds}
    optional["cycles"] = record.estimated_cycles
    optional["moves"] = list(record.moves)
    optional["copies"] = record.copies
    optional["repeats"] = record.repeats if record.repeats > 1 else 0
    optional["reads"] = [[read.kernel, read.result, read.type_text, read.bytes] for read in record.reads]
    if record.collective is not None:
        collective = record.collective
        optional["across"] = [collective.kind, collective.devices, collective.operand_bytes, collective.result_bytes]
    return wire | {name: value for name, value in optional.items() if value}


def encode_explained(record: Explained) -> JSON:
    """Encode fusion decisions as rows.

    A row is pass, fused or not, producer, consumer, result, reason, plain explanation, seconds if fused and
    if not. Texts are indices into ``texts``; ``nodes`` holds opcode, equations and bytes by instruction name.
    """
    texts = _TextTable()
    shown = record.decisions[:MAX_DECISIONS]
    steps = [_encode_decision(decision, texts) for decision in shown]
    names = {name for decision in shown for name in (decision.producer, decision.consumer)}
    nodes, unread = _encode_instructions(record.before, names)
    note = "; ".join(filter(None, [record.note, unread]))
    wire: JSON = {"target": record.target, "module": record.module, "seconds": record.seconds}
    wire |= {"complete": record.complete, "note": note, "cut": len(record.decisions) - len(shown)}
    if record.edge:
        wire |= {"edge": list(record.edge), "outcome": record.outcome, "answer": record.answer}
        wire["about"] = [step for step in record.about if step < len(shown)]
    return wire | {"texts": texts.texts, "steps": steps, "nodes": nodes}


def _encode_decision(decision: FusionDecision, texts: _TextTable) -> list[Any]:
    """Encode a fusion decision as a row of :func:`encode_explained`.

    Texts are encoded as their indices in ``texts``, to which new ones are added.
    """
    words = (decision.producer, decision.consumer, decision.result, decision.reason, decision.plain)
    row: list[Any] = [texts.index_of(decision.pass_name), int(decision.action == "fused"), *map(texts.index_of, words)]
    if decision.fused_seconds is not None or decision.unfused_seconds is not None:
        row += [decision.fused_seconds, decision.unfused_seconds]
    return row


def _encode_instructions(hlo: str, names: set[str]) -> tuple[JSON, str]:
    """Encode the named instructions of an HLO text, and return why there are none, or ``""``.

    The result has opcode, equations and bytes by the instruction's name; it is empty if the HLO cannot be read.
    """
    if not hlo:  # its record says why
        return {}, ""
    try:
        module = read_module(hlo)
    except FormatError as error:
        return {}, str(error)
    nodes = {
        instruction.name: [
            instruction.opcode,
            list(equation_paths(module, instruction.name, computation.instructions)),
            instruction.bytes,
        ]
        for computation in module.computations.values()
        for instruction in computation.instructions.values()
        if instruction.name in names
    }
    return nodes, ""


def encode_passes(record: Passes) -> JSON:
    """Encode what the passes of a compilation changed, with the lines that each added and removed."""
    wire: JSON = {"target": record.target, "module": record.module, "seconds": record.seconds}
    wire |= {"complete": record.complete, "note": record.note}
    return wire | {"passes": [_encode_pass(entry) for entry in record.passes]}


def _encode_pass(compiler_pass: Pass) -> JSON:
    """Encode one pass of the compiler; a long diff is cut, and ``cut`` says by how many characters."""
    wire: JSON = {
        "name": compiler_pass.name,
        "pipeline": compiler_pass.pipeline,
        "instructions": compiler_pass.instructions,
    }
    wire |= {
        "added": compiler_pass.added,
        "removed": compiler_pass.removed,
        "changed": compiler_pass.changed,
        "diff": compiler_pass.diff[:MAX_DIFF_CHARS],
    }
    wire |= {"gone": list(compiler_pass.gone)} if compiler_pass.gone else {}
    wire |= {"does": words} if (words := describe_pass(compiler_pass.name)) else {}
    if any(compiler_pass.lines):  # one entry per line of the diff that is sent
        wire["lines"] = [";".join(paths) for paths in compiler_pass.lines[: wire["diff"].count("\n") + 1]]
    return wire | (
        {"cut": len(compiler_pass.diff) - MAX_DIFF_CHARS} if len(compiler_pass.diff) > MAX_DIFF_CHARS else {}
    )


class _TextTable:
    """Table of distinct texts, each of which is sent once and referred to by its index."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def index_of(self, text: str) -> int:
        """Return the index of a text, which is added on first use."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> list[str]:
        """Return the texts in order of their indices."""
        return list(self._numbers)
