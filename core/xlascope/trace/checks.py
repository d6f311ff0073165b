"""What the debugging settings do with every program that is traced: refuse it, time it, check it, look for leaks."""

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


def checked(stage: Callable[[], ClosedJaxpr], name: str, told: bool) -> ClosedJaxpr:
    """Trace a program as the settings ask for; ``told`` says whether it is one that a user knows of.

    Raises RuntimeError under ``no_tracing``, UnexpectedTracerError for a value that ``check_tracer_leaks`` finds.
    """
    blocks.check()
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
    _add_forwards(program.jaxpr, known)
    known.add(id(variables))
    holders = gc.get_referrers(*variables.values())
    known.add(id(holders))
    found: list[tuple[Any, Any]] = []
    known.add(id(found))
    for holder in holders:
        outside = _outside(holder, known)
        if outside is not None:
            found += [(held, outside) for held in gc.get_referents(holder) if id(held) in variables]
    return found


def _outside(holder: Any, known: set[int]) -> Any:
    """What keeps something on behalf of a user: the holder, or what holds that when it is a tracer; or None.

    Tuples do not count: the engine passes values around in them, and rules of custom functions close over such.
    """
    if id(holder) in known or isinstance(holder, tuple) or _is_harmless(holder):
        return None
    if not isinstance(holder, Tracer):
        return holder
    above = gc.get_referrers(holder)
    known = {*known, id(above), id(holder)}
    return next((found for found in (_outside(x, known) for x in above) if found is not None), None)


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
        outside = _outside(x, own - {id(x)})
        found += [] if outside is None else [(x, outside)]
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
    """The collections in which a program holds its own variables, by their ids."""
    found = {id(jaxpr.constvars), id(jaxpr.invars), id(jaxpr.outvars)}
    for raw in jaxpr.raw:
        found.update((id(raw[1]), id(raw[2])))
    return found


def _add_forwards(jaxpr: Jaxpr, found: set[int]) -> None:
    """Add, by their ids, what equations hold beside their variables: in their origins the tracers that stand for the
    forward value of a derivative, and what the rules of custom functions close over.
    """
    for operation, _, _, _, _, origin in jaxpr.raw:
        value = None if origin is None else origin.forward
        while isinstance(value, Tracer) and id(value) not in found:
            found.add(id(value))
            value = value.inner() if hasattr(value, "inner") else None
        for body in operation.bodies():
            _add_forwards(body.jaxpr, found)
        if operation.composite:
            _add_rules(operation, found)


def _add_rules(operation: Operation, found: set[int]) -> None:
    """Add the collections and closures that an operation's rules are made of, by their ids."""
    reached: list[Any] = [operation]
    while reached:
        for x in gc.get_referents(reached.pop()):
            if isinstance(x, _OF_RULES) and id(x) not in found and not (isinstance(x, dict) and "__builtins__" in x):
                found.add(id(x))
                reached.append(x)


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
