"""The part ``questions``: results of the inspections of a program, compared with what ran."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ... import inspect, records
from ...xla.targets import MissingTargetError
from .context import Context
from .profiles import prepare
from .programs.journal import Item, Skipped

#: The program that is asked about, and the target.
ASKED, TARGET = "mlp", "gpu:h100"
WHY_SECONDS = 15.0


def items(context: Context) -> Iterator[Item]:
    """Yield the questions; those that run another compiler come last."""
    yield Item("fusions", functools.partial(_ask, "fusions", _fusions, context))
    yield Item("memory", functools.partial(_ask, "memory", _memory, context))
    yield Item("text", functools.partial(_ask, "jaxpr", _jaxpr, context))
    yield Item("doctor", functools.partial(_ask, "doctor", _doctor, context))
    yield Item("hlo of the device", functools.partial(_save_hlo, context))
    yield Item(f"target {TARGET}", functools.partial(_ask, "target", _target, context))
    yield Item(f"why for {TARGET}", functools.partial(_ask, "why", functools.partial(_why, TARGET), context))
    yield Item("why for cpu", functools.partial(_ask, "why_cpu", functools.partial(_why, "cpu"), context))


Answer = tuple[inspect.Inspection, str]


def _ask(name: str, question: Callable[[Any, Any, Context], Answer], context: Context) -> dict[str, Any]:
    """Ask a question, save its records and text, and return its outcome."""
    _, (function, arguments), _ = prepare(ASKED, context)
    try:
        inspection, words = question(function, arguments, context)
    except MissingTargetError as error:
        raise Skipped(str(error).splitlines()[0]) from None
    context.save(f"records/{ASKED}_{name}.json", json.dumps(inspection.to_json()))
    context.save(f"text/{ASKED}_{name}.txt", inspection.text)
    return {"words": words}


def _fusions(function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.fusions(function, *arguments)
    compiled = _compiled(inspection)
    attributed = sum(bool(kernel.equations or kernel.moves) for kernel in compiled.kernels)
    return (
        inspection,
        f"{len(compiled.kernels)} kernels, {attributed} of them with equations; {compiled.seconds:.2f} s to compile",
    )


def _memory(function: Any, arguments: Any, context: Context) -> Answer:
    """Compare the compiler's buffer assignment with the peak that the device reports."""
    inspection = inspect.memory(function, *arguments)
    stats = context.device.memory_stats() or {}
    peak = stats.get("peak_bytes_in_use")
    beside = f"; the device's peak is {peak / 1e6:.1f} MB" if peak else "; the device counts no peak"
    return inspection, inspection.text.splitlines()[0] + beside


def _jaxpr(function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.explore(function, *arguments)
    return inspection, f"{len(inspection.text.splitlines())} lines of jaxpr"


def _doctor(function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.doctor(function, *arguments)
    return inspection, inspection.text.splitlines()[0]


def _target(function: Any, arguments: Any, context: Context) -> Answer:
    """Compare the kernels compiled ahead of time with those of the device."""
    inspection = inspect.target(function, *arguments, target=TARGET)
    aot, actual = _compiled(inspection), _compiled(inspect.fusions(function, *arguments))
    same = len(_shapes(aot) & _shapes(actual))
    estimate = f", estimated {aot.estimated_seconds * 1e3:.3f} ms a call" if aot.estimated_seconds else ""
    words = f"{len(aot.kernels)} kernels ahead of time{estimate}; {len(actual.kernels)} on {context.device.device_kind}"
    return inspection, f"{words}; {same} of the same equations and type"


def _why(target: str, function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.why(function, *arguments, target=target, budget=WHY_SECONDS)
    explained = next(record for record in inspection.records if isinstance(record, records.Explained))
    completeness = "complete" if explained.complete else f"stopped after {WHY_SECONDS:g} s"
    return inspection, f"{len(explained.decisions)} decisions, {completeness}"


def _save_hlo(context: Context) -> str:
    """Save the optimized HLO of the device's own compiler."""
    _, (function, arguments), _ = prepare(ASKED, context)
    lowered = function.lower(*arguments)
    text = lowered.compile().as_text() or ""
    context.save(f"hlo/{ASKED}_compiled.txt", text)
    context.save(f"hlo/{ASKED}_stablehlo.txt", lowered.as_text())
    calls = sorted(set(re.findall(r'custom_call_target="([^"]+)"', text)))
    return f"{len(text)} characters; custom calls: {', '.join(calls) or 'none'}"


def _compiled(inspection: inspect.Inspection) -> records.Compiled:
    return next(record for record in inspection.records if isinstance(record, records.Compiled))


def _shapes(compiled: records.Compiled) -> set[tuple[Any, ...]]:
    return {(kernel.type_text, *kernel.equations) for kernel in compiled.kernels}
