"""Giving each equation of a program of jax its identity: its index, in the name that XLA carries through.

jax names what it lowers by a stack of scopes and transformations (``jvp(Block_0)/tanh``). An equation's own index goes
on top (``jvp(Block_0)/e14/tanh``), which :mod:`xlascope.records.op_names` reads as it reads our engine's names. Where
the stack ends in a transformation an empty scope comes between, as that would take the index in:
``transpose(jvp())/e14``. Nothing of the program changes but its names, so the executable is the same.
"""

from __future__ import annotations

import itertools
from typing import Any

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
        return equation.replace(
            params=with_bodies(equation, self.jaxpr),
            source_info=source.replace(name_stack=_numbered(source.name_stack, [*apart, *body, f"e{index}"])),
        )


def _holds_alike(equation: Any, index: int) -> bool:
    """Whether a body has a call of the same name in the same place."""
    inside = [body.eqns[index] for body in bodies_of(equation) if len(body.eqns) > index]
    return any(
        each.primitive is equation.primitive and each.params.get("name") == equation.params.get("name")
        for each in inside
    )


def _numbered(names: NameStack, own: list[str]) -> NameStack:
    stack = tuple(Scope(harmless(each.name)) if isinstance(each, Scope) else each for each in names.stack)
    between = (_BETWEEN,) if stack and isinstance(stack[-1], Transform) else ()
    return NameStack((*stack, *between, *map(Scope, own)))
