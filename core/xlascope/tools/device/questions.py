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
PROGRAM_NAME, TARGET = "mlp", "gpu:h100"
WHY_BUDGET_SECONDS = 15.0


def items(context: Context) -> Iterator[Item]:
    """Yield a check for each inspection of a program; those that run another compiler come last."""
    yield Item("fusions", functools.partial(_ask, "fusions", _ask_fusions, context))
    yield Item("memory", functools.partial(_ask, "memory", _ask_memory, context))
    yield Item("text", functools.partial(_ask, "jaxpr", _ask_jaxpr, context))
    yield Item("doctor", functools.partial(_ask, "doctor", _ask_doctor, context))
    yield Item("hlo of the device", functools.partial(_save_hlo, context))
    yield Item(f"target {TARGET}", functools.partial(_ask, "target", _ask_target, context))
    yield Item(f"why for {TARGET}", functools.partial(_ask, "why", functools.partial(_ask_why, TARGET), context))
    yield Item("why for cpu", functools.partial(_ask, "why_cpu", functools.partial(_ask_why, "cpu"), context))


Answer = tuple[inspect.Inspection, str]


def _ask(name: str, question: Callable[[Any, Any, Context], Answer], context: Context) -> dict[str, Any]:
    """Inspect a program, save the records and the text, and return the outcome.

    ``name`` is used in file names; ``question(function, arguments, context)`` returns the inspection and a remark. A
    missing compiler skips the check.
    """
    _, (function, arguments), _ = prepare(PROGRAM_NAME, context)
    try:
        inspection, words = question(function, arguments, context)
    except MissingTargetError as error:
        raise Skipped(str(error).splitlines()[0]) from None
    context.save(f"records/{PROGRAM_NAME}_{name}.json", json.dumps(inspection.to_json()))
    context.save(f"text/{PROGRAM_NAME}_{name}.txt", inspection.text)
    return {"words": words}


def _ask_fusions(function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.fusions(function, *arguments)
    compiled = _compiled_record(inspection)
    attributed = sum(bool(kernel.equations or kernel.moves or kernel.copies) for kernel in compiled.kernels)
    return (
        inspection,
        f"{len(compiled.kernels)} kernels, {attributed} of them with equations; {compiled.seconds:.2f} s to compile",
    )


def _ask_memory(function: Any, arguments: Any, context: Context) -> Answer:
    """Compare the compiler's buffer assignment with the peak that the device reports."""
    inspection = inspect.memory(function, *arguments)
    stats = context.device.memory_stats() or {}
    peak = stats.get("peak_bytes_in_use")
    peak_text = f"; the device's peak is {peak / 1e6:.1f} MB" if peak else "; the device counts no peak"
    return inspection, inspection.text.splitlines()[0] + peak_text


def _ask_jaxpr(function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.explore(function, *arguments)
    return inspection, f"{len(inspection.text.splitlines())} lines of jaxpr"


def _ask_doctor(function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.doctor(function, *arguments)
    return inspection, inspection.text.splitlines()[0]


def _ask_target(function: Any, arguments: Any, context: Context) -> Answer:
    """Compare the kernels compiled ahead of time with those of the device."""
    inspection = inspect.target(function, *arguments, target=TARGET)
    aot, actual = _compiled_record(inspection), _compiled_record(inspect.fusions(function, *arguments))
    same = len(_kernel_signatures(aot) & _kernel_signatures(actual))
    estimate = f", estimated {aot.estimated_seconds * 1e3:.3f} ms a call" if aot.estimated_seconds else ""
    words = f"{len(aot.kernels)} kernels ahead of time{estimate}; {len(actual.kernels)} on {context.device.device_kind}"
    return inspection, f"{words}; {same} of the same equations and type"


def _ask_why(target: str, function: Any, arguments: Any, _: Context) -> Answer:
    inspection = inspect.why(function, *arguments, target=target, budget=WHY_BUDGET_SECONDS)
    explained = next(record for record in inspection.records if isinstance(record, records.Explained))
    completeness = "complete" if explained.complete else f"stopped after {WHY_BUDGET_SECONDS:g} s"
    return inspection, f"{len(explained.decisions)} decisions, {completeness}"


def _save_hlo(context: Context) -> str:
    """Save the optimized HLO of the device's own compiler."""
    _, (function, arguments), _ = prepare(PROGRAM_NAME, context)
    lowered = function.lower(*arguments)
    text = lowered.compile().as_text() or ""
    context.save(f"hlo/{PROGRAM_NAME}_compiled.txt", text)
    context.save(f"hlo/{PROGRAM_NAME}_stablehlo.txt", lowered.as_text())
    calls = sorted(set(re.findall(r'custom_call_target="([^"]+)"', text)))
    return f"{len(text)} characters; custom calls: {', '.join(calls) or 'none'}"


def _compiled_record(inspection: inspect.Inspection) -> records.Compiled:
    return next(record for record in inspection.records if isinstance(record, records.Compiled))


def _kernel_signatures(compiled: records.Compiled) -> set[tuple[Any, ...]]:
    return {(kernel.type_text, *kernel.equations) for kernel in compiled.kernels}
