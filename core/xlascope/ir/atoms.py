"""What equations are made of: variables, literals, and where a derived equation comes from."""

from __future__ import annotations

from typing import Any, NamedTuple

from .avals import ShapedArray


class Var:
    """A variable: its type, and while its program is traced the trace that it belongs to. Compared by identity."""

    __slots__ = ("_trace", "aval")

    aval: ShapedArray

    def __init__(self, aval: ShapedArray, trace: Any = None) -> None:
        self.aval = aval
        self._trace = trace

    def __repr__(self) -> str:
        return f"Var({self.aval.str_short()})"


class Literal:
    """A scalar constant written in the program itself."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval

    @property
    def dtype(self) -> Any:
        """The type of the value."""
        return self.aval.dtype

    @property
    def operand(self) -> Any:
        """The value to compute with: a weak one is a Python number, so that results stay weak."""
        return self.val.item() if self.aval.weak_type and hasattr(self.val, "item") else self.val

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short()}"


Atom = Var | Literal


class Origin(NamedTuple):
    """Where a derived equation comes from: the pass that made it, the value whose derivative it computes, the user's
    line, and the scopes (``named_scope``) that are open there.
    """

    role: str
    forward: Any
    code: Any
    lasti: int
    scope: str = ""


#: The instruction of an origin that says nothing but which scopes are open: the user's line is still to be found.
NO_LINE = -2


def origin_of(role: str, forward: Any, code: Any, lasti: int, scope: str = "", new: Any = tuple.__new__) -> Origin:
    """An :class:`Origin`, made in half the time that calling the class takes: derivatives make two an equation."""
    made: Origin = new(Origin, (role, forward, code, lasti, scope))
    return made
