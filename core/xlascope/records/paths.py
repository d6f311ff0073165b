"""Paths of equations: the identifier of an equation of a program in all stages and views."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_NUMBER = r"(?:0|[1-9][0-9]*)"
_STEP = rf"(?:[1-9][0-9]*\.)?{_NUMBER}"
_PATH = re.compile(rf"{_STEP}(?:/{_STEP})*")


class Step(NamedTuple):
    """Step of a path: equation ``number`` of the body ``body`` of the previous equation."""

    body: int
    number: int


class EquationPath(str):
    """Equation indices from the outermost program, joined by ``/``: ``12/4`` is equation 4 in the body of equation 12.

    Where an equation holds several bodies (a cond's branches), an index in a later one is prefixed with the
    body's number: ``12/1.4``. An equation has one path, so paths compare equal as strings. Their order is
    that of the program: by index, and an equation before those inside it. The constructor checks nothing;
    :meth:`parse` does.

    >>> sorted([EquationPath("10"), EquationPath("9/1.0"), EquationPath("9/2"), EquationPath("9")])
    ['9', '9/2', '9/1.0', '10']
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> EquationPath:
        """Parse the text of a path; raise ValueError, naming it, if it is invalid.

        >>> EquationPath.parse("12/04")
        Traceback (most recent call last):
        ValueError: '12/04' is no path of an equation; paths look like 3, 12/4 or 12/1.0
        """
        if _PATH.fullmatch(text) is None:
            raise ValueError(f"{text!r} is no path of an equation; paths look like 3, 12/4 or 12/1.0")
        return cls(text)

    @staticmethod
    def meant_by(text: str) -> bool:
        """Return whether a text looks like a path, that is, begins with a digit, which a kernel's name does not."""
        return text[:1].isdigit()

    @staticmethod
    def innermost(paths: Iterable[str]) -> EquationPath:
        """Return the path of the innermost equation that is, or holds, all of these; :data:`PROGRAM` if there is none.

        >>> EquationPath.innermost(["2/1/5", "2/1/7/0"]), EquationPath.innermost(["1", "12"])
        ('2/1', '')
        """
        segments = [path.split("/") for path in paths]
        first, last = min(segments), max(segments)  # the common prefix of these two is common to all
        shared = 0
        for a, b in zip(first, last, strict=False):
            if a != b:
                break
            shared += 1
        return EquationPath("/".join(first[:shared]))

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps from the outermost program.

        >>> EquationPath("12/1.4").steps
        (Step(body=0, number=12), Step(body=1, number=4))
        """
        parts = (segment.rpartition(".") for segment in self.split("/")) if self else ()
        return tuple(Step(int(body or 0), int(number)) for body, _, number in parts)

    @property
    def parent(self) -> EquationPath:
        """Return the equation that holds this one; :data:`PROGRAM` for one at the top level.

        >>> EquationPath("12/1.4").parent, EquationPath("12").parent
        ('12', '')
        """
        return EquationPath(self.rpartition("/")[0])

    def child(self, number: int, body: int = 0) -> EquationPath:
        """Return the path of equation ``number`` in a body of this one, or of the program.

        >>> EquationPath("12").child(4), EquationPath("12").child(4, body=1), PROGRAM.child(3)
        ('12/4', '12/1.4', '3')
        """
        step = f"{body}.{number}" if body else str(number)
        return EquationPath(self + "/" + step if self else step)  # adding is faster than formatting a subclass of str

    def within(self, outer: str) -> bool:
        """Return whether the equation ``outer`` holds this one, at any depth.

        >>> EquationPath("12/4").within("12"), EquationPath("12").within("12"), EquationPath("12").within("1")
        (True, False, False)
        """
        return self.startswith(outer + "/") if outer else bool(self)

    def relative_to(self, outer: str) -> EquationPath:
        """Return the path relative to ``outer``, an equation that holds this one; raise ValueError if it does not.

        >>> EquationPath("12/1.4/0").relative_to("12")
        '1.4/0'
        """
        if not self.within(outer):
            raise ValueError(f"equation {outer or 'of the program'} does not hold equation {self}")
        return EquationPath(self[len(outer) + 1 :] if outer else self)

    def __lt__(self, other: str) -> bool:
        return self.steps < other.steps if isinstance(other, EquationPath) else NotImplemented

    def __le__(self, other: str) -> bool:
        return self.steps <= other.steps if isinstance(other, EquationPath) else NotImplemented

    def __gt__(self, other: str) -> bool:
        return self.steps > other.steps if isinstance(other, EquationPath) else NotImplemented

    def __ge__(self, other: str) -> bool:
        return self.steps >= other.steps if isinstance(other, EquationPath) else NotImplemented


#: The path of the outermost program itself, the parent of top-level equations.
PROGRAM = EquationPath("")
