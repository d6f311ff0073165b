"""Paths of equations inside XLA: written into the names of operations, and read back from the ``op_name`` it keeps.

The lowering names the operations of equation 4 in a body ``e4/dot_general``, relative to the body, and a call of that
body ``jit(update)/e12/jit(loss)``. When XLA inlines the call, at every call site, it puts the call's name in front:
``jit(update)/e12/jit(loss)/e4/dot_general``. It leaves that out where the name begins with the call's already,
so what stands for the callee (``jit(loss)``) is a name that no other function of the module has.

When XLA takes a part of a loop's body out and inlines it again, it puts the loop's name in front of whole names:
``jit(f)/e0/scan/jit(f)/e0/jit(body)/e1/tanh`` is ``jit(f)/e0/jit(body)/e1/tanh``. A callee follows an equation's
number, so the second ``jit(f)`` begins the name anew.

Of an equation that holds several bodies (a cond's branches) those after the first are told apart by their number:
``b1/e4/add`` is equation 4 in the second body, whose path ends in ``1.4``.
"""

from __future__ import annotations

import re

from .paths import EquationPath

_SEGMENT = re.compile(r"(?:e(0|[1-9][0-9]*)|b([1-9][0-9]*))")
_LIKE_ONE = re.compile(r"\(*[be]\d+\)*")


def equation_path(name: str) -> EquationPath | None:
    """The path of the equation that an ``op_name`` belongs to; None when it names none.

    >>> equation_path("jit(update)/e12/jit(loss)/e4/dot_general")
    '12/4'
    >>> equation_path("jit(update)/e12/jit(branch)/b1/e4/dot_general")
    '12/1.4'
    >>> equation_path("jit(update)/copy") is None
    True
    """
    path: list[str] = []
    body = ""
    root, previous = name.partition("/")[0], ""
    for segment in name.split("/"):
        found = _SEGMENT.fullmatch(segment)
        if segment == root and _SEGMENT.fullmatch(previous) is None:  # the name of an outlined part is in front
            path = []
        previous = segment
        if found is None:
            continue
        index, number = found.groups()
        if index is None:
            body = f"{number}."
        else:
            path.append(body + index)
            body = ""
    return EquationPath("/".join(path)) if path else None


def scoped(prefix: str, scope: str, index: int) -> str:
    """The name of equation ``index`` in scopes (``layer/norm``): they come first, so that names sort by them.

    A scope whose name looks like an equation's is put in parentheses.

    >>> scoped("jit(f)/", "layer/e3", 4)
    'jit(f)/layer/(e3)/e4'
    >>> equation_path("jit(f)/layer/(e3)/e4/sin")
    '4'
    """
    names = [f"({name})" if _LIKE_ONE.fullmatch(name) else name for name in scope.split("/")]
    return f"{prefix}{'/'.join(names)}/e{index}"


def body_prefix(body: int) -> str:
    """What stands before the names of equations in body number ``body`` of an equation.

    >>> body_prefix(0), body_prefix(1)
    ('', 'b1/')
    """
    return f"b{body}/" if body else ""
