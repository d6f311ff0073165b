"""Records as the JSON that crosses to the browser. Defaults are left out; HLO text is never sent.

Two halves: ``heavy`` is what never changes once a stage has ended and is sent once (jaxpr, sources, kernels);
``light`` is the few numbers that move while a cell runs.
"""

from __future__ import annotations

from typing import Any

from xlascope.records import (
    Compiled,
    DeviceTime,
    Equation,
    Executed,
    Failure,
    Jaxpr,
    Kernel,
    SourceRange,
    SourceText,
    Traced,
    Variable,
)

from .ledger import Program

JSON = dict[str, Any]

#: Bars drawn per device; a step of more kernels than this is cut, and the panel says so.
MOST_SPANS = 2000


def heavy(program: Program) -> JSON:
    """What the panel needs to draw a program, apart from its moving numbers."""
    files: list[str] = []
    wire: JSON = {"number": program.number, "function": program.function, "files": files}
    if program.traced is not None:
        wire |= _traced(program.traced, files)
    if program.compiled is not None:
        wire |= _compiled(program.compiled)
    return wire


def light(program: Program) -> JSON:
    """Stage, durations and measurements of a program."""
    wire: JSON = {"number": program.number, "function": program.function, "traces": program.traces}
    if program.active is not None:
        wire |= {"stage": program.active.stage, "since": program.active.time}
    if program.traced is not None:
        wire |= {"traced": program.traced.seconds, "equations": program.equations, "reason": program.traced.reason}
    if program.lowered is not None:
        wire |= {"lowered": program.lowered.seconds}
    if program.compiled is not None:
        wire |= {"compiled": program.compiled.seconds, "cache": program.compiled.cache}
        wire |= {"kernels": len(program.compiled.kernels)}
    if program.executed is not None:
        wire["executed"] = _executed(program.executed)
    if program.failure is not None:
        wire["failure"] = failure(program.failure)
    return wire


def failure(record: Failure) -> JSON:
    """A failure: its own line and the message."""
    wire: JSON = {"function": record.function, "stage": record.stage, "error": record.error, "message": record.message}
    if record.source is not None:
        wire |= {"file": record.source.file, "line": record.source.line}
    return wire


def _traced(record: Traced, files: list[str]) -> JSON:
    wire: JSON = {"jaxpr": _jaxpr(record.jaxpr, files), "reason": record.reason}
    wire["sources"] = [_text(source, files) for source in record.sources]
    if record.call_site is not None:
        wire["site"] = _source(record.call_site, files)
    return wire


def _compiled(record: Compiled) -> JSON:
    wire: JSON = {"platform": record.platform, "devices": list(record.devices)}
    wire["kernels"] = [_kernel(kernel) for kernel in record.kernels]
    wire |= {"flops": record.flops, "accessed": record.bytes_accessed}
    if record.memory is not None:
        wire["peak"] = record.memory.peak
    return wire


def _text(source: SourceText, files: list[str]) -> JSON:
    return {"file": _file(source.file, files), "title": source.title, "first": source.first_line, "text": source.text}


def _jaxpr(jaxpr: Jaxpr, files: list[str]) -> JSON:
    return {
        "name": jaxpr.name,
        "constants": list(jaxpr.constants),
        "inputs": list(jaxpr.inputs),
        "outputs": list(jaxpr.outputs),
        "variables": {name: _variable(variable) for name, variable in jaxpr.variables.items()},
        "equations": [_equation(equation, files) for equation in jaxpr.equations],
    }


def _variable(variable: Variable) -> list[Any]:
    known = [variable.type_text, variable.bytes]
    return [*known, variable.label] if variable.label else known


def _equation(equation: Equation, files: list[str]) -> JSON:
    wire: JSON = {"path": equation.path, "op": equation.operation}
    wire |= {"in": list(equation.inputs), "out": list(equation.outputs)}
    if equation.name != equation.operation:
        wire["name"] = equation.name
    if equation.parameters:
        wire["params"] = equation.parameters
    if equation.role != "forward":
        wire["role"] = equation.role
    if equation.source is not None:
        wire["src"] = _source(equation.source, files)
    if equation.transposes is not None:
        wire["of"] = equation.transposes
    if equation.flops:
        wire["flops"] = equation.flops
    if equation.bodies:
        wire["bodies"] = [_jaxpr(body, files) for body in equation.bodies]
    return wire


def _source(source: SourceRange, files: list[str]) -> list[int]:
    return [_file(source.file, files), source.line, source.end_line]


def _file(file: str, files: list[str]) -> int:
    if file not in files:
        files.append(file)
    return files.index(file)


def _kernel(kernel: Kernel) -> JSON:
    wire: JSON = {"name": kernel.name, "kind": kernel.kind, "type": kernel.type_text, "eqns": list(kernel.equations)}
    wire |= {"instructions": kernel.instructions, "unknown": kernel.unknown}
    return wire | {"read": kernel.bytes_read, "written": kernel.bytes_written, "saved": kernel.bytes_saved}


def _executed(record: Executed) -> JSON:
    return {
        "calls": record.calls,
        "seconds": record.seconds,
        "window": record.window,
        "observed": record.observed_calls,
        "step": record.step,
        "devices": [_device(device, record.window) for device in record.devices],
    }


def _device(device: DeviceTime, window: float) -> JSON:
    return {
        "name": device.device,
        "busy": device.busy / window if window else 0.0,
        "kernels": {k.kernel: [k.calls, k.seconds] for k in device.kernels},
        "spans": [[s.kernel, s.start, s.duration] for s in device.spans[:MOST_SPANS]],
        "cut": max(0, len(device.spans) - MOST_SPANS),
    }
