"""Debugging settings applied to every traced program: refuse, time, check, look for leaks."""

from __future__ import annotations

import functools
import gc
import time
import types
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import UnexpectedTracerError
from ..ir.checker import check_jaxpr
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Origin, Var
from ..ir.operation import Operation
from ..runtime import blocks, boot
from ..xla.system.logs import log_compilation
from .provenance import ended_text
from .source import user_line, where_text
from .tracer import Tracer

_MOST_TOLD = 3
_OF_RULES = (tuple, list, dict, types.CellType, types.FunctionType, types.MethodType, functools.partial)


def checked(stage: Callable[[], ClosedJaxpr], name: str, is_jit: bool) -> ClosedJaxpr:
    """Trace a program under the debugging settings; ``is_jit`` says whether to log it as a traced jit function.

    Raises RuntimeError under ``no_tracing``, UnexpectedTracerError for a value that ``check_tracer_leaks`` finds.
    """
    blocks.check()
    if boot.no_tracing.value:
        raise RuntimeError(
            f"{name or 'a function'} would have to be traced{where_text(user_line())}, and no_tracing is set"
        )
    start = time.perf_counter()
    program = stage()
    if is_jit:
        log_compilation("Finished tracing %s for jit in %.9f sec", name, time.perf_counter() - start)
    if boot.enable_checks.value:
        check_jaxpr(program)
    if boot.check_tracer_leaks.value:
        raise_leaks(leaked_variables(program), name)
    return program


def leaked_variables(program: ClosedJaxpr) -> list[tuple[Any, Any]]:
    """Return the variables of a program that an object outside of it refers to, each with that object."""
    variables = {id(v): v for v in _variables(program.jaxpr)}
    gc.collect()  # unreachable objects are not leaks
    internal_ids = _containers(program.jaxpr)
    _add_forwards(program.jaxpr, internal_ids)
    internal_ids.add(id(variables))
    holders = gc.get_referrers(*variables.values())
    internal_ids.add(id(holders))
    leaks: list[tuple[Any, Any]] = []
    internal_ids.add(id(leaks))
    for holder in holders:
        outside = _outside(holder, internal_ids)
        if outside is not None:
            leaks += [(variable, outside) for variable in gc.get_referents(holder) if id(variable) in variables]
    return leaks


def _outside(holder: Any, internal_ids: set[int]) -> Any:
    """Return the object that holds a value on behalf of a user, looking through tracers; None if there is none.

    Tuples do not count: the engine passes values around in them, and rules of custom functions close over such.
    """
    if id(holder) in internal_ids or isinstance(holder, tuple) or _is_harmless(holder):
        return None
    if not isinstance(holder, Tracer):
        return holder
    above = gc.get_referrers(holder)
    internal_ids = {*internal_ids, id(above), id(holder)}
    return next((outer for outer in (_outside(x, internal_ids) for x in above) if outer is not None), None)


def raise_leaks(leaks: list[tuple[Any, Any]], name: str) -> None:
    """Raise UnexpectedTracerError that names the leaked values, if there are any."""
    if not leaks:
        return
    listing = "".join(
        f"\n- {value.aval.str_short()}, held by {_holder_text(holder)}.{ended_text(value)}"
        for value, holder in leaks[:_MOST_TOLD]
    )
    more = f"\nand {len(leaks) - _MOST_TOLD} more" if len(leaks) > _MOST_TOLD else ""
    raise UnexpectedTracerError(
        f"traced values outlive {name or 'the function'}, to which they belong:{listing}{more}\n"
        "Return such values from the function instead of storing them."
    )


def raise_leaked_tracers(trace: Any) -> None:
    """Raise UnexpectedTracerError if a tracer outlives the trace of its vmap, under ``check_tracer_leaks``."""
    if not boot.check_tracer_leaks.value:
        return
    gc.collect()
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
    leaked_ids = {id(leaked), *(id(x) for x in leaked)}
    leaks = []
    for x in leaked:
        outside = _outside(x, leaked_ids - {id(x)})
        leaks += [] if outside is None else [(x, outside)]
    raise_leaks(leaks, "the function that vmap maps")


def _variables(jaxpr: Jaxpr) -> Iterable[Var]:
    yield from jaxpr.constvars
    yield from jaxpr.invars
    for _, _, outputs, *_ in jaxpr.raw:
        yield from outputs


def _is_harmless(holder: Any) -> bool:
    """Return whether an object is part of a program or belongs to a running function, which releases it on return."""
    if isinstance(holder, types.CellType):
        closures = [c for c in gc.get_referrers(holder) if type(c) is tuple]
        return not any(isinstance(f, types.FunctionType) for c in closures for f in gc.get_referrers(c))
    if type(holder) in (list, dict):
        above = gc.get_referrers(holder)
        if any(getattr(r, name, None) is holder for r in above for name in ("constvars", "lifted")):
            return True  # of a trace that has ended, which origins keep
        tuples = [r for r in above if isinstance(r, tuple)]
        if any(type(r) is not tuple for r in tuples):
            return True  # the engine's record of a call's arguments
        return bool(tuples) and not any(isinstance(r, (dict, types.CellType)) for r in above)
    return isinstance(holder, (Origin, Jaxpr, types.FrameType, types.GeneratorType))


def _containers(jaxpr: Jaxpr) -> set[int]:
    """Return the ids of the collections in which a program holds its own variables."""
    ids = {id(jaxpr.constvars), id(jaxpr.invars), id(jaxpr.outvars)}
    for raw in jaxpr.raw:
        ids.update((id(raw[1]), id(raw[2])))
    return ids


def _add_forwards(jaxpr: Jaxpr, ids: set[int]) -> None:
    """Add the ids of objects that equations hold besides their variables.

    These are the tracers in origins that stand for the forward value of a derivative, and what the rules of
    custom functions close over.
    """
    for operation, _, _, _, _, origin in jaxpr.raw:
        value = None if origin is None else origin.forward
        while isinstance(value, Tracer) and id(value) not in ids:
            ids.add(id(value))
            value = value.inner() if hasattr(value, "inner") else None
        for body in operation.bodies():
            _add_forwards(body.jaxpr, ids)
        if operation.composite:
            _add_rules(operation, ids)


def _add_rules(operation: Operation, ids: set[int]) -> None:
    """Add the ids of the collections and closures in an operation's rules."""
    pending: list[Any] = [operation]
    while pending:
        for x in gc.get_referents(pending.pop()):
            if isinstance(x, _OF_RULES) and id(x) not in ids and not (isinstance(x, dict) and "__builtins__" in x):
                ids.add(id(x))
                pending.append(x)


def _holder_text(holder: Any) -> str:
    """Describe the object that refers to a leaked value, with its name in a module if it has one."""
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
