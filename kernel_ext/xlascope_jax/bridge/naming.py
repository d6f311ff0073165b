"""Names that identify each equation of a jax program by its index, which XLA carries through compilation.

jax names what it lowers by a stack of scopes and transformations (``jvp(Block_0)/norm/tanh``). The equation's
index is inserted before the last part of its stack, ``jvp(Block_0)/e14/norm/tanh``, and
:mod:`xlascope.records.op_names` reads it as it reads the names of xlascope's engine. Only names change, so
the executable is the same.

The index is not at the end because XLA names an instruction by the last part. For most equations that is
jax's name of the operation; but an operation that jax lowers to a function call has the stack alone. If its
last part is that of the enclosing names, it is repeated (``jit(f)/e4/jit(f)``); if there are none, within a
function that is itself called, the operation gets no name of its own and has that of the call.
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
    """Return a closed jaxpr whose equations, including those of bodies, are named by their indices."""
    return _Naming().program(closed, 0)


class _Naming:
    """A renamer of one program. A body that is used several times stays one object, so jax lowers it once.

    XLA omits a call's name before names that already begin with it. If a call of ``g`` is equation 1, and in
    its body another call of a ``g`` is also equation 1, the outer one therefore gets a unique number.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], Any] = {}
        self._alike = itertools.count(1)

    def program(self, program: Any, body: int) -> Any:
        """Return a jaxpr, open or closed, with named equations."""
        key = id(program), body
        if key not in self._made:
            self._made[key] = self._named(program, body)
        return self._made[key]

    def _named(self, program: Any, body: int) -> Any:
        jaxpr = open_jaxpr(program)
        if jaxpr is not program:
            return program.replace(jaxpr=self.program(jaxpr, body))
        prefix = [body_prefix(body).rstrip("/")] if body else []
        equations = [self._equation(equation, index, prefix) for index, equation in enumerate(jaxpr.eqns)]
        return jaxpr.replace(eqns=equations, debug_info=jaxpr.debug_info)

    def _equation(self, equation: Any, index: int, body: list[str]) -> Any:
        source = equation.source_info
        disambiguator = [f"({next(self._alike)})"] if _holds_alike(equation, index) else []
        scopes = [*disambiguator, *body, f"e{index}"]
        return equation.replace(
            params=with_bodies(equation, self.program),
            source_info=source.replace(name_stack=_Numbered(source.name_stack, scopes, _is_called(equation.primitive))),
        )


def _holds_alike(equation: Any, index: int) -> bool:
    """Return whether a body has a call of the same name at the same index."""
    candidates = [body.eqns[index] for body in bodies_of(equation) if len(body.eqns) > index]
    return any(
        candidate.primitive is equation.primitive and candidate.params.get("name") == equation.params.get("name")
        for candidate in candidates
    )


class _Numbered(NameStack):
    """A name stack of an equation with extra scopes, inserted once the enclosing names are known.

    jax computes ``around + names``. Python calls the right operand's ``__radd__`` first if its class is a
    subclass of the left operand's.
    """

    __slots__ = ("nameless", "own")

    def __init__(self, names: NameStack, scopes: Iterable[str], nameless: bool) -> None:
        super().__init__(
            tuple(Scope(harmless(entry.name)) if isinstance(entry, Scope) else entry for entry in names.stack)
        )
        object.__setattr__(self, "own", tuple(map(Scope, scopes)))
        object.__setattr__(self, "nameless", nameless)

    def __radd__(self, around: NameStack) -> NameStack:
        stack = (*around.stack, *self.stack)
        if not stack:
            return NameStack(() if self.nameless else self.own)
        start = _last_part(stack)
        inside = start if start >= len(around.stack) else len(stack)
        return NameStack((*stack[:inside], *self.own, *stack[start:]))


def _last_part(stack: tuple[Any, ...]) -> int:
    """Return where the last part of a name begins: a scope and the transformations before it."""
    start = len(stack) - (bool(stack) and isinstance(stack[-1], Scope))
    while start and isinstance(stack[start - 1], Transform):
        start -= 1
    return start


def _is_called(primitive: Any) -> bool:
    """Return whether jax lowers an operation to function calls, as it does random number generation."""
    tables = (mlir._lowerings, *mlir._platform_specific_lowerings.values())
    called = any(not table[primitive].inline for table in tables if primitive in table)
    return called or primitive.name.startswith("random_")
