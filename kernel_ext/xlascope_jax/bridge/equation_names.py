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

from xlascope.records.op_names import body_prefix, escape_scope

from .bodies import bodies_of, open_jaxpr, replace_bodies


def name_equations(closed: Any) -> Any:
    """Return a closed jaxpr whose equations, including those of bodies, are named by their indices."""
    return _EquationNamer().rename(closed, 0)


class _EquationNamer:
    """Function object that renames the equations of one program; a body used several times stays one object.

    So jax lowers it once. XLA omits a call's name before names that already begin with it. If a call of ``g`` is
    equation 1, and in its body another call of a ``g`` is also equation 1, the outer one therefore gets a unique
    number.
    """

    def __init__(self) -> None:
        self._renamed: dict[tuple[int, int], Any] = {}
        self._disambiguators = itertools.count(1)

    def rename(self, program: Any, body: int) -> Any:
        """Return a jaxpr, open or closed, with named equations; ``body`` is its number among the equation's bodies."""
        key = id(program), body
        if key not in self._renamed:
            self._renamed[key] = self._rename_uncached(program, body)
        return self._renamed[key]

    def _rename_uncached(self, program: Any, body: int) -> Any:
        jaxpr = open_jaxpr(program)
        if jaxpr is not program:
            return program.replace(jaxpr=self.rename(jaxpr, body))
        prefix = [body_prefix(body).rstrip("/")] if body else []
        equations = [self._rename_equation(equation, index, prefix) for index, equation in enumerate(jaxpr.eqns)]
        return jaxpr.replace(eqns=equations, debug_info=jaxpr.debug_info)

    def _rename_equation(self, equation: Any, index: int, body: list[str]) -> Any:
        source = equation.source_info
        disambiguator = [f"({next(self._disambiguators)})"] if _has_same_call_inside(equation, index) else []
        scopes = [*disambiguator, *body, f"e{index}"]
        return equation.replace(
            params=replace_bodies(equation, self.rename),
            source_info=source.replace(
                name_stack=_IndexedNameStack(source.name_stack, scopes, _lowers_to_call(equation.primitive))
            ),
        )


def _has_same_call_inside(equation: Any, index: int) -> bool:
    """Return whether a body of an equation has a call of the same function at the equation's own index."""
    candidates = [body.eqns[index] for body in bodies_of(equation) if len(body.eqns) > index]
    return any(
        candidate.primitive is equation.primitive and candidate.params.get("name") == equation.params.get("name")
        for candidate in candidates
    )


class _IndexedNameStack(NameStack):
    """Name stack of an equation with additional scopes, inserted once the enclosing names are known.

    ``nameless`` says that the scopes are left out if there are no other names. jax computes ``around + names``.
    Python calls the right operand's ``__radd__`` first if its class is a subclass of the left operand's.
    """

    __slots__ = ("nameless", "own")

    def __init__(self, names: NameStack, scopes: Iterable[str], nameless: bool) -> None:
        super().__init__(
            tuple(Scope(escape_scope(entry.name)) if isinstance(entry, Scope) else entry for entry in names.stack)
        )
        object.__setattr__(self, "own", tuple(map(Scope, scopes)))
        object.__setattr__(self, "nameless", nameless)

    def __radd__(self, around: NameStack) -> NameStack:
        stack = (*around.stack, *self.stack)
        if not stack:
            return NameStack(() if self.nameless else self.own)
        start = _last_part_start(stack)
        inside = start if start >= len(around.stack) else len(stack)
        return NameStack((*stack[:inside], *self.own, *stack[start:]))


def _last_part_start(stack: tuple[Any, ...]) -> int:
    """Return the index in a name stack where its last part begins: a scope and the transformations before it."""
    start = len(stack) - (bool(stack) and isinstance(stack[-1], Scope))
    while start and isinstance(stack[start - 1], Transform):
        start -= 1
    return start


def _lowers_to_call(primitive: Any) -> bool:
    """Return whether jax lowers an operation to function calls, as it does random number generation."""
    tables = (mlir._lowerings, *mlir._platform_specific_lowerings.values())
    is_call = any(not table[primitive].inline for table in tables if primitive in table)
    return is_call or primitive.name.startswith("random_")
