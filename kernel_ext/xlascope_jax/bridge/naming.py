"""Giving each equation of a program of jax its identity: its index, in the name that XLA carries through.

jax names what it lowers by a stack of scopes and transformations (``jvp(Block_0)/tanh``). An equation's own index goes
on top (``jvp(Block_0)/e14/tanh``), which :mod:`xlascope.records.op_names` reads as it reads our engine's names. Where
the stack ends in a transformation an empty scope comes between, as that would take the index in:
``transpose(jvp())/e14``. Nothing of the program changes but its names, so the executable is the same.

XLA calls an instruction by the last part of its name. For most operations that is jax's name of the operation, but an
operation that jax lowers to a function of its own is called with the stack alone. There the index goes in front of the
last part, wherever that comes from: ``jit(f)/e4/jit(f)``.
"""

from __future__ import annotations

import itertools
from typing import Any

from jax._src.interpreters import mlir
from jax._src.source_info_util import NameStack, Scope, Transform

from xlascope.records.op_names import body_prefix, harmless

from .bodies import bodies_of, with_bodies

_BETWEEN = Scope("")


def named(closed: Any) -> Any:
    """A closed jaxpr whose equations are named by their indices, bodies included."""
    return closed.replace(jaxpr=_Naming().jaxpr(closed.jaxpr, 0))


class _Naming:
    """Names one program. A body that is held several times stays one, so that jax lowers it once.

    XLA leaves a call's name out in front of names that begin with it already. So where a call of ``g`` is equation 1,
    and within it another call of a ``g`` is equation 1 as well, the outer one gets a number that none else has.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], Any] = {}
        self._alike = itertools.count(1)

    def jaxpr(self, jaxpr: Any, body: int) -> Any:
        key = id(jaxpr), body
        if key not in self._made:
            own = [body_prefix(body).rstrip("/")] if body else []
            equations = [self._equation(each, index, own) for index, each in enumerate(jaxpr.eqns)]
            self._made[key] = jaxpr.replace(eqns=equations, debug_info=jaxpr.debug_info)
        return self._made[key]

    def _equation(self, equation: Any, index: int, body: list[str]) -> Any:
        source = equation.source_info
        apart = [f"({next(self._alike)})"] if _holds_alike(equation, index) else []
        own = [*apart, *body, f"e{index}"]
        return equation.replace(
            params=with_bodies(equation, self.jaxpr),
            source_info=source.replace(name_stack=_numbered(source.name_stack, own, _is_called(equation.primitive))),
        )


def _holds_alike(equation: Any, index: int) -> bool:
    """Whether a body has a call of the same name in the same place."""
    inside = [body.eqns[index] for body in bodies_of(equation) if len(body.eqns) > index]
    return any(
        each.primitive is equation.primitive and each.params.get("name") == equation.params.get("name")
        for each in inside
    )


def _numbered(names: NameStack, own: list[str], called: bool) -> NameStack:
    stack = tuple(Scope(harmless(each.name)) if isinstance(each, Scope) else each for each in names.stack)
    scopes = tuple(map(Scope, own))
    if called:
        return _Inserted(stack, scopes)
    between = (_BETWEEN,) if stack and isinstance(stack[-1], Transform) else ()
    return NameStack((*stack, *between, *scopes))


class _Inserted(NameStack):
    """Names whose last part, once those around them are known, comes behind scopes of ours.

    jax adds them to the names around them, ``around + names``: Python asks the right one of two first when its class
    is the more special one.
    """

    __slots__ = ("own",)

    def __init__(self, stack: tuple[Any, ...], own: tuple[Scope, ...]) -> None:
        super().__init__(stack)
        object.__setattr__(self, "own", own)

    def __radd__(self, around: NameStack) -> NameStack:
        stack = (*around.stack, *self.stack)
        last = _last_part(stack)
        return NameStack((*stack[:last], *self.own, *(stack[last:] or (_BETWEEN,))))


def _last_part(stack: tuple[Any, ...]) -> int:
    """Where the last part begins: a scope with the transformations in front of it, or these alone."""
    last = len(stack) - (bool(stack) and isinstance(stack[-1], Scope))
    while last and isinstance(stack[last - 1], Transform):
        last -= 1
    return last


def _is_called(primitive: Any) -> bool:
    """Whether jax lowers an operation to a function, and calls that."""
    tables = (mlir._lowerings, *mlir._platform_specific_lowerings.values())
    return any(not table[primitive].inline for table in tables if primitive in table)
