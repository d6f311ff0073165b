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
from ..runtime import boot, setting_blocks
from ..xla.system.logs import log_compilation
from .provenance import describe_ended_origin
from .source import user_line, where_text
from .tracer import TracerBase

_MAX_LISTED_LEAKS = 3
_RULE_CONTAINER_TYPES = (tuple, list, dict, types.CellType, types.FunctionType, types.MethodType, functools.partial)


def stage_with_checks(stage: Callable[[], ClosedJaxpr], name: str, is_jit: bool) -> ClosedJaxpr:
    """Return the program that ``stage()`` traces, under the debugging settings.

    ``name`` is the function's name for messages; ``is_jit`` says whether to log the time as that of a jitted
    function. Raises RuntimeError under ``no_tracing``, UnexpectedTracerError for a value that
    ``check_tracer_leaks`` finds.
    """
    setting_blocks.check()
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
        raise_leaks(find_leaked_variables(program), name)
    return program


def find_leaked_variables(program: ClosedJaxpr) -> list[tuple[Any, Any]]:
    """Return pairs (variable, holder) for the variables of a program to which an object outside of it refers."""
    variables = {id(v): v for v in _iter_variables(program.jaxpr)}
    gc.collect()  # unreachable objects are not leaks
    internal_ids = _container_ids(program.jaxpr)
    _add_equation_ids(program.jaxpr, internal_ids)
    internal_ids.add(id(variables))
    holders = gc.get_referrers(*variables.values())
    internal_ids.add(id(holders))
    leaks: list[tuple[Any, Any]] = []
    internal_ids.add(id(leaks))
    for holder in holders:
        outside = _find_outside_holder(holder, internal_ids)
        if outside is not None:
            leaks += [(variable, outside) for variable in gc.get_referents(holder) if id(variable) in variables]
    return leaks


def _find_outside_holder(holder: Any, internal_ids: set[int]) -> Any:
    """Return the object that refers to a value on behalf of the user, or None if the engine itself does.

    ``holder`` is an object that refers to the value: if it is a tracer, the objects that refer to it are
    examined instead. ``internal_ids`` are the ids of the engine's objects. Tuples do not count: the engine
    passes values around in them, and rules of custom functions close over such tuples.
    """
    if id(holder) in internal_ids or isinstance(holder, tuple) or _is_harmless(holder):
        return None
    if not isinstance(holder, TracerBase):
        return holder
    above = gc.get_referrers(holder)
    internal_ids = {*internal_ids, id(above), id(holder)}
    return next((outer for outer in (_find_outside_holder(x, internal_ids) for x in above) if outer is not None), None)


def raise_leaks(leaks: list[tuple[Any, Any]], name: str) -> None:
    """Raise UnexpectedTracerError if there are leaks, pairs (variable, holder); ``name`` is the traced function's."""
    if not leaks:
        return
    listing = "".join(
        f"\n- {value.aval.str_short()}, held by {_describe_holder(holder)}.{describe_ended_origin(value)}"
        for value, holder in leaks[:_MAX_LISTED_LEAKS]
    )
    more = f"\nand {len(leaks) - _MAX_LISTED_LEAKS} more" if len(leaks) > _MAX_LISTED_LEAKS else ""
    raise UnexpectedTracerError(
        f"traced values outlive {name or 'the function'}, to which they belong:{listing}{more}\n"
        "Return such values from the function instead of storing them."
    )


def raise_leaked_tracers(trace: Any) -> None:
    """Raise UnexpectedTracerError if a tracer of a vmap's trace is still referred to, under ``check_tracer_leaks``.

    ``trace`` is the vmap's trace, which has ended.
    """
    if not boot.check_tracer_leaks.value:
        return
    gc.collect()
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, TracerBase)]
    leaked_ids = {id(leaked), *(id(x) for x in leaked)}
    leaks = []
    for x in leaked:
        outside = _find_outside_holder(x, leaked_ids - {id(x)})
        leaks += [] if outside is None else [(x, outside)]
    raise_leaks(leaks, "the function that vmap maps")


def _iter_variables(jaxpr: Jaxpr) -> Iterable[Var]:
    yield from jaxpr.constvars
    yield from jaxpr.invars
    for _, _, outputs, *_ in jaxpr.raw:
        yield from outputs


def _is_harmless(holder: Any) -> bool:
    """Return whether an object that refers to a traced value is part of a program or of a running function.

    A running function releases the value when it returns.
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


def _container_ids(jaxpr: Jaxpr) -> set[int]:
    """Return the ids of the lists and tuples in which a program holds its own variables."""
    ids = {id(jaxpr.constvars), id(jaxpr.invars), id(jaxpr.outvars)}
    for raw in jaxpr.raw:
        ids.update((id(raw[1]), id(raw[2])))
    return ids


def _add_equation_ids(jaxpr: Jaxpr, ids: set[int]) -> None:
    """Add to ``ids`` the ids of objects that the equations of a program hold besides their variables.

    These are the tracers that origins hold as forward values, and what the rules of custom functions close
    over.
    """
    for operation, _, _, _, _, origin in jaxpr.raw:
        value = None if origin is None else origin.forward
        while isinstance(value, TracerBase) and id(value) not in ids:
            ids.add(id(value))
            value = value.inner() if hasattr(value, "inner") else None
        for body in operation.bodies():
            _add_equation_ids(body.jaxpr, ids)
        if operation.composite:
            _add_rule_ids(operation, ids)


def _add_rule_ids(operation: Operation, ids: set[int]) -> None:
    """Add to ``ids`` the ids of the containers and closures that an operation refers to, directly or through others."""
    pending: list[Any] = [operation]
    while pending:
        for x in gc.get_referents(pending.pop()):
            if (
                isinstance(x, _RULE_CONTAINER_TYPES)
                and id(x) not in ids
                and not (isinstance(x, dict) and "__builtins__" in x)
            ):
                ids.add(id(x))
                pending.append(x)


def _describe_holder(holder: Any) -> str:
    """Return a description of the object that refers to a leaked value, such as ``the list xs of __main__``."""
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
            return _describe_holder(owner)
    for above in gc.get_referrers(holder):
        if isinstance(above, dict) and isinstance(above.get("__name__"), str) and "__builtins__" in above:
            names = [key for key, value in above.items() if value is holder]
            return f"the {kind} {names[0]} of {above['__name__']}"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
