"""Giving each equation of a program of jax its identity: its index, in the name that XLA carries through.

jax names what it lowers by a stack of scopes and transformations (``jvp(Block_0)/norm/tanh``). An equation's own index
is put in front of the last part of its stack, ``jvp(Block_0)/e14/norm/tanh``, which :mod:`xlascope.records.op_names`
reads as it reads our engine's names. Nothing of the program changes but its names, so the executable is the same.

Not at its end, as XLA calls an instruction by the last part of its name. For most that is jax's name of the operation;
but an operation that jax lowers to a call of a function has the stack alone. So where the last part is that of the
names around the equation it comes again (``jit(f)/e4/jit(f)``), and where there are none, within a function that is
called itself, such an operation stays without a name: it has that of the call.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from jax._src.interpreters import mlir
from jax._src.source_info_util import NameStack, Scope, Transform

from xlascope.records.op_names import body_prefix, harmless

from .bodies import bodies_of, open_jaxpr, with_bodies


def named(closed: Any) -> Any:
    """A closed jaxpr whose equations are named by their indices, bodies included."""
    return _Naming().program(closed, 0)


class _Naming:
    """Names one program. A body that is held several times stays one object, so that jax lowers it once.

    XLA leaves a call's name out in front of names that begin with it already. So where a call of ``g`` is equation 1,
    and within it another call of a ``g`` is equation 1 as well, the outer one gets a number that none else has.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], Any] = {}
        self._alike = itertools.count(1)

    def program(self, held: Any, body: int) -> Any:
        """A jaxpr, or a closed one, with names."""
        key = id(held), body
        if key not in self._made:
            self._made[key] = self._named(held, body)
        return self._made[key]

    def _named(self, held: Any, body: int) -> Any:
        jaxpr = open_jaxpr(held)
        if jaxpr is not held:
            return held.replace(jaxpr=self.program(jaxpr, body))
        own = [body_prefix(body).rstrip("/")] if body else []
        equations = [self._equation(each, index, own) for index, each in enumerate(jaxpr.eqns)]
        return jaxpr.replace(eqns=equations, debug_info=jaxpr.debug_info)

    def _equation(self, equation: Any, index: int, body: list[str]) -> Any:
        source = equation.source_info
        apart = [f"({next(self._alike)})"] if _holds_alike(equation, index) else []
        own = [*apart, *body, f"e{index}"]
        return equation.replace(
            params=with_bodies(equation, self.program),
            source_info=source.replace(name_stack=_Numbered(source.name_stack, own, _is_called(equation.primitive))),
        )


def _holds_alike(equation: Any, index: int) -> bool:
    """Whether a body has a call of the same name in the same place."""
    inside = [body.eqns[index] for body in bodies_of(equation) if len(body.eqns) > index]
    return any(
        each.primitive is equation.primitive and each.params.get("name") == equation.params.get("name")
        for each in inside
    )


class _Numbered(NameStack):
    """Names of an equation with scopes of ours, which are put in once the names around them are known.

    jax adds them to those, ``around + names``: Python asks the right one of two first when its class is the more
    special one.
    """

    __slots__ = ("nameless", "own")

    def __init__(self, names: NameStack, own: Iterable[str], nameless: bool) -> None:
        super().__init__(tuple(Scope(harmless(each.name)) if isinstance(each, Scope) else each for each in names.stack))
        object.__setattr__(self, "own", tuple(map(Scope, own)))
        object.__setattr__(self, "nameless", nameless)

    def __radd__(self, around: NameStack) -> NameStack:
        stack = (*around.stack, *self.stack)
        if not stack:
            return NameStack(() if self.nameless else self.own)
        start = _last_part(stack)
        inside = start if start >= len(around.stack) else len(stack)
        return NameStack((*stack[:inside], *self.own, *stack[start:]))


def _last_part(stack: tuple[Any, ...]) -> int:
    """Where the last part of a name begins: a scope with the transformations in front of it, or these alone."""
    start = len(stack) - (bool(stack) and isinstance(stack[-1], Scope))
    while start and isinstance(stack[start - 1], Transform):
        start -= 1
    return start


def _is_called(primitive: Any) -> bool:
    """Whether jax lowers an operation to the call of a function, or to some of which one is: those that draw."""
    tables = (mlir._lowerings, *mlir._platform_specific_lowerings.values())
    called = any(not table[primitive].inline for table in tables if primitive in table)
    return called or primitive.name.startswith("random_")
