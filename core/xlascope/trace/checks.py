"""What the debugging settings do with every program that is traced: refuse it, time it, check it, look for leaks."""

from __future__ import annotations

import gc
import time
import types
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import UnexpectedTracerError
from ..ir.checker import check_jaxpr
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Origin, Var
from ..runtime import boot
from ..xla.logs import log_compilation
from .provenance import ended_text
from .source import user_line, where_text
from .tracer import Tracer

_MOST_TOLD = 3


def checked(stage: Callable[[], ClosedJaxpr], name: str, told: bool) -> ClosedJaxpr:
    """Trace a program as the settings ask for; ``told`` says whether it is one that a user knows of.

    Raises RuntimeError under ``no_tracing``, UnexpectedTracerError for a value that ``check_tracer_leaks`` finds.
    """
    if boot.no_tracing.value:
        raise RuntimeError(
            f"{name or 'a function'} would have to be traced{where_text(user_line())}, and no_tracing is set"
        )
    clock = time.perf_counter()
    program = stage()
    if told:
        log_compilation("Finished tracing %s for jit in %.9f sec", name, time.perf_counter() - clock)
    if boot.enable_checks.value:
        check_jaxpr(program)
    if boot.check_tracer_leaks.value:
        raise_leaks(leaked_variables(program), name)
    return program


def leaked_variables(program: ClosedJaxpr) -> list[tuple[Any, Any]]:
    """The variables of a program that something other than a program refers to, each with what refers to it."""
    variables = {id(v): v for v in _variables(program.jaxpr)}
    gc.collect()  # what is only waiting to be collected leaks nothing
    known = _containers(program.jaxpr)
    found = []
    for holder in gc.get_referrers(*variables.values()):
        if holder is variables or id(holder) in known or _is_harmless(holder):
            continue
        found += [(held, holder) for held in gc.get_referents(holder) if id(held) in variables]
    return found


def raise_leaks(leaks: list[tuple[Any, Any]], name: str) -> None:
    """Raise UnexpectedTracerError that names the leaked values, if there are any."""
    if not leaks:
        return
    told = "".join(
        f"\n- {value.aval.str_short()}, held by {_holder_text(holder)}.{ended_text(value)}"
        for value, holder in leaks[:_MOST_TOLD]
    )
    more = f"\nand {len(leaks) - _MOST_TOLD} more" if len(leaks) > _MOST_TOLD else ""
    raise UnexpectedTracerError(
        f"traced values outlive {name or 'the function'}, to which they belong:{told}{more}\n"
        "Return such values from the function instead of storing them."
    )


def raise_leaked_tracers(trace: Any) -> None:
    """Raise UnexpectedTracerError if a tracer outlives its trace, that of a vmap, and the settings ask for that."""
    if not boot.check_tracer_leaks.value:
        return
    gc.collect()
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
    own = {id(leaked), *(id(x) for x in leaked)}
    found = []
    for x in leaked:
        holders = [h for h in gc.get_referrers(x) if id(h) not in own and not _is_harmless(h)]
        found += [(x, holder) for holder in holders[:1]]
    raise_leaks(found, "the function that vmap maps")


def _variables(jaxpr: Jaxpr) -> Iterable[Var]:
    yield from jaxpr.constvars
    yield from jaxpr.invars
    for _, _, outputs, *_ in jaxpr.raw:
        yield from outputs


def _is_harmless(holder: Any) -> bool:
    """Whether something is part of a program, or (a variable of) a function that is running: it lets go when that
    returns.
    """
    if isinstance(holder, types.CellType):
        closures = [c for c in gc.get_referrers(holder) if type(c) is tuple]
        return not any(isinstance(f, types.FunctionType) for c in closures for f in gc.get_referrers(c))
    return isinstance(holder, (Origin, Jaxpr, types.FrameType))


def _containers(jaxpr: Jaxpr) -> set[int]:
    """The collections in which a program holds its own variables, by their ids."""
    found = {id(jaxpr.constvars), id(jaxpr.invars), id(jaxpr.outvars)}
    for raw in jaxpr.raw:
        found.update((id(raw[1]), id(raw[2])))
    return found


def _holder_text(holder: Any) -> str:
    """What refers to a leaked value, in words: with the name by which a module knows it, where there is one."""
    if isinstance(holder, dict):
        module = holder.get("__name__")
        if isinstance(module, str) and "__builtins__" in holder:
            return f"a global of {module}"
    if isinstance(holder, types.CellType):
        return "a variable of an enclosing function"
    kind = type(holder).__name__
    if kind == "dict":
        owner = next((o for o in gc.get_referrers(holder) if getattr(o, "__dict__", None) is holder), None)
        if owner is not None:
            return _holder_text(owner)
    for above in gc.get_referrers(holder):
        if isinstance(above, dict) and isinstance(above.get("__name__"), str) and "__builtins__" in above:
            names = [key for key, value in above.items() if value is holder]
            return f"the {kind} {names[0]} of {above['__name__']}"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
