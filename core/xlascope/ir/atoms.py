"""Components of equations: variables, literals, and the origin of a derived equation."""

from __future__ import annotations

from typing import Any, NamedTuple

from .avals import ShapedArray


class Var:
    """Variable of a jaxpr with its type ``aval`` and, while its program is traced, its trace. Compared by identity."""

    __slots__ = ("_trace", "aval")

    aval: ShapedArray

    def __init__(self, aval: ShapedArray, trace: Any = None) -> None:
        self.aval = aval
        self._trace = trace

    def __repr__(self) -> str:
        return f"Var({self.aval.str_short()})"


class Literal:
    """Scalar constant ``val`` that is written in a program in place of a variable; ``aval`` is its type."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval

    @property
    def dtype(self) -> Any:
        """Return the dtype of the value."""
        return self.aval.dtype

    @property
    def operand(self) -> Any:
        """Return the value to compute with: a Python number for a weak literal, so that results stay weak."""
        return self.val.item() if self.aval.weak_type and hasattr(self.val, "item") else self.val

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"


Atom = Var | Literal


class Origin(NamedTuple):
    """Origin of an equation that belongs to a derivative or a scope, with the user's line.

    ``role`` is ``"forward"``, ``"tangent"`` or ``"backward"``, ``forward`` the value whose derivative the
    equation computes, ``code`` and ``lasti`` are the code object and the offset of the instruction of the
    user's line, ``scope`` the open ``named_scope`` names, joined by ``/``.
    """

    role: str
    forward: Any
    code: Any
    lasti: int
    scope: str = ""


#: The instruction index of an origin that has only scopes: the user's line is still to be looked up.
NO_LINE = -2


def make_origin(role: str, forward: Any, code: Any, lasti: int, scope: str = "", new: Any = tuple.__new__) -> Origin:
    """Return an :class:`Origin` in half the time of calling the class: derivatives make two per equation.

    ``new`` is a local name for speed and is not passed.
    """
    origin: Origin = new(Origin, (role, forward, code, lasti, scope))
    return origin
