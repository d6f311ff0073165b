"""The part ``questions``: what the inspections say of a program, beside what ran."""

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

#: The program that is asked about, and the target that is nearest to the cards in question.
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
    """Ask a question, save its records and text, and return what it comes to."""
    _, (function, arguments), _ = prepare(ASKED, context)
    try:
        found, words = question(function, arguments, context)
    except MissingTargetError as error:
        raise Skipped(str(error).splitlines()[0]) from None
    context.save(f"records/{ASKED}_{name}.json", json.dumps(found.to_json()))
    context.save(f"text/{ASKED}_{name}.txt", found.text)
    return {"words": words}


def _fusions(function: Any, arguments: Any, _: Context) -> Answer:
    found = inspect.fusions(function, *arguments)
    compiled = _compiled(found)
    known = sum(bool(kernel.equations or kernel.moves) for kernel in compiled.kernels)
    return (
        found,
        f"{len(compiled.kernels)} kernels, {known} of them with equations; {compiled.seconds:.2f} s to compile",
    )


def _memory(function: Any, arguments: Any, context: Context) -> Answer:
    """The compiler's plan beside the peak that the device counted."""
    found = inspect.memory(function, *arguments)
    stats = context.device.memory_stats() or {}
    peak = stats.get("peak_bytes_in_use")
    beside = f"; the device's peak is {peak / 1e6:.1f} MB" if peak else "; the device counts no peak"
    return found, found.text.splitlines()[0] + beside


def _jaxpr(function: Any, arguments: Any, _: Context) -> Answer:
    found = inspect.explore(function, *arguments)
    return found, f"{len(found.text.splitlines())} lines of jaxpr"


def _doctor(function: Any, arguments: Any, _: Context) -> Answer:
    found = inspect.doctor(function, *arguments)
    return found, found.text.splitlines()[0]


def _target(function: Any, arguments: Any, context: Context) -> Answer:
    """The kernels of the compiler alone beside those of the device."""
    found = inspect.target(function, *arguments, target=TARGET)
    ahead, here = _compiled(found), _compiled(inspect.fusions(function, *arguments))
    same = len(_shapes(ahead) & _shapes(here))
    estimate = f", estimated {ahead.estimated_seconds * 1e3:.3f} ms a call" if ahead.estimated_seconds else ""
    words = f"{len(ahead.kernels)} kernels ahead of time{estimate}; {len(here.kernels)} on {context.device.device_kind}"
    return found, f"{words}; {same} of the same equations and type"


def _why(target: str, function: Any, arguments: Any, _: Context) -> Answer:
    found = inspect.why(function, *arguments, target=target, budget=WHY_SECONDS)
    explained = next(each for each in found.records if isinstance(each, records.Explained))
    whole = "complete" if explained.complete else f"stopped after {WHY_SECONDS:g} s"
    return found, f"{len(explained.decisions)} decisions, {whole}"


def _save_hlo(context: Context) -> str:
    """The optimized HLO of the device's own compiler."""
    _, (function, arguments), _ = prepare(ASKED, context)
    lowered = function.lower(*arguments)
    text = lowered.compile().as_text() or ""
    context.save(f"hlo/{ASKED}_compiled.txt", text)
    context.save(f"hlo/{ASKED}_stablehlo.txt", lowered.as_text())
    calls = sorted(set(re.findall(r'custom_call_target="([^"]+)"', text)))
    return f"{len(text)} characters; custom calls: {', '.join(calls) or 'none'}"


def _compiled(found: inspect.Inspection) -> records.Compiled:
    return next(each for each in found.records if isinstance(each, records.Compiled))


def _shapes(compiled: records.Compiled) -> set[tuple[Any, ...]]:
    return {(kernel.type_text, *kernel.equations) for kernel in compiled.kernels}
