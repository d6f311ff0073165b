"""Paths of equations inside XLA: written into the names of operations, and read back from the ``op_name`` it keeps.

The lowering names the operations of equation 4 in a body ``e4/dot_general``, relative to the body, and a call of that
body ``jit(update)/e12/jit(loss)``. When XLA inlines the call, at every call site, it puts the call's name in front:
``jit(update)/e12/jit(loss)/e4/dot_general``. It leaves that out where the name begins with the call's already,
so what stands for the callee (``jit(loss)``) is a name that no other function of the module has.

When XLA takes a part of a loop's body out and inlines it again, it puts the loop's name in front of whole names:
``jit(f)/e0/scan/jit(f)/e0/jit(body)/e1/tanh`` is ``jit(f)/e0/jit(body)/e1/tanh``. A callee follows an equation's
number, so the second ``jit(f)`` begins the name anew.

What XLA merges has all names: joined by ``;``, or, where it joins exchanges of several arrays between devices into one,
in parentheses behind what they begin with: ``jit(f)/jit(body)/(e1/psum:e4/psum)``.

Of an equation that holds several bodies (a cond's branches) those after the first are told apart by their number:
``b1/e4/add`` is equation 4 in the second body, whose path ends in ``1.4``.

Equations that are compiled once together share a segment: ``e3,8/tanh`` is equations 3 and 8, ``e3-58by5/tanh``
equations 3, 8, … 58. What copies their values, into a stack or out of one, is ``stack(e3-58by5)``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from .paths import EquationPath

_NUMBER = "(?:0|[1-9][0-9]*)"
_TERM = f"{_NUMBER}(?:-{_NUMBER}by{_NUMBER})?"
_SEGMENT = re.compile(rf"(?:e({_TERM}(?:,{_TERM})*)|b([1-9][0-9]*))")
_STACKED = re.compile(rf"(?<![^/])stack\((e{_TERM}(?:,{_TERM})*)\)(?![^/])")
_HOLDS_ONE = re.compile(rf"(?:^|[/(])e{_TERM}(?:,{_TERM})*/")
_LIKE_ONE = re.compile(r"\(*[be]\d[-,by\d]*\)*")


def equation_path(name: str) -> EquationPath | None:
    """The path of the equation that an ``op_name`` belongs to, the first of several; None when it names none.

    >>> equation_path("jit(update)/e12/jit(loss)/e4/dot_general")
    '12/4'
    >>> equation_path("jit(update)/e12/jit(branch)/b1/e4/dot_general")
    '12/1.4'
    >>> equation_path("jit(update)/copy") is None
    True
    """
    return next(iter(equation_paths(name)), None)


def equation_paths(name: str) -> list[EquationPath]:
    """The paths of the equations that an ``op_name`` belongs to: several where they were compiled once together.

    >>> equation_paths("jit(f)/e3-13by5,20/jit(block)/e4/tanh")
    ['3/4', '8/4', '13/4', '20/4']
    """
    steps: list[list[str]] = []
    body = ""
    root, previous = name.partition("/")[0], ""
    for segment in name.split("/"):
        found = _SEGMENT.fullmatch(segment)
        if segment == root and _SEGMENT.fullmatch(previous) is None:  # the name of an outlined part is in front
            steps = []
        previous = segment
        if found is None:
            continue
        numbers, number = found.groups()
        if numbers is None:
            body = f"{number}."
        else:
            steps.append([body + each for each in _numbers(numbers)])
            body = ""
    return [EquationPath("/".join(path)) for path in itertools.product(*steps)] if steps else []


def stacked_paths(op_name: str) -> list[EquationPath]:
    """The equations whose values an instruction of that name copies into a stack, or out of one.

    >>> stacked_paths("jit(f)/loop/stack(e3-13by5)"), equation_paths("jit(f)/loop/stack(e3-13by5)")
    (['3', '8', '13'], [])
    """
    return equation_paths(_STACKED.sub(r"\1", op_name)) if _STACKED.search(op_name) else []


def stack_of(numbers: Sequence[int]) -> str:
    """The segment of what copies the values of equations, or those of none that has a number.

    >>> stack_of([3, 8, 13]), stack_of([])
    ('stack(e3-13by5)', 'stack')
    """
    return f"stack({segment_of(numbers)})" if numbers else "stack"


#: How the name of a loop over repeats ends.
REPEATS = "/loop/repeats"


def _numbers(terms: str) -> Iterable[str]:
    """The numbers in the segment of equations."""
    if "," not in terms and "-" not in terms:
        return (terms,)
    found: list[str] = []
    for term in terms.split(","):
        first, _, rest = term.partition("-")
        last, _, step = rest.partition("by")
        found += map(str, range(int(first), int(last) + 1, int(step) or 1)) if rest else (first,)
    return found


def segment_of(numbers: Sequence[int]) -> str:
    """The segment of equations with those numbers, in order.

    >>> segment_of([4]), segment_of([3, 8]), segment_of([0, 3, 8, 13, 18])
    ('e4', 'e3,8', 'e0,3-18by5')
    """
    terms: list[str] = []
    at = 0
    while at < len(numbers):
        first, step = numbers[at], numbers[at + 1] - numbers[at] if at + 1 < len(numbers) else 0
        end = at + 1
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        if end - at < 3:
            terms, at = [*terms, f"{first}"], at + 1
        else:
            terms, at = [*terms, f"{first}-{numbers[end - 1]}by{step}"], end
    return "e" + ",".join(terms)


def absolute_paths(op_name: str) -> list[EquationPath]:
    """The equations that an instruction's name tells; a name that is relative to a body tells none.

    Bodies that are not inlined have such names, and what a reduction or a sort combines by.

    >>> absolute_paths("jit(f)/e1/add;jit(f)/e2/add"), absolute_paths("e1/reduce_sum")
    (['1', '2'], [])
    """
    absolute = (name for name in merged_names(op_name) if not _SEGMENT.fullmatch(name.partition("/")[0]))
    return [path for name in absolute for path in equation_paths(name)]


def repeats_in(op_name: str) -> int:
    """Of how many equations, compiled once together, one is computed when an instruction of that name runs.

    >>> repeats_in("jit(f)/e3-58by5/tanh"), repeats_in("jit(f)/e1/add;jit(f)/e2/add")
    (12, 1)
    """
    if "," not in op_name and "by" not in op_name:
        return 1
    return max(max(len(equation_paths(name)), 1) for name in merged_names(op_name))


def merged_names(op_name: str) -> list[str]:
    """The names in an ``op_name``, which has several where XLA merged what had them.

    >>> merged_names("jit(f)/e1/add;jit(f)/e2/add")
    ['jit(f)/e1/add', 'jit(f)/e2/add']
    >>> merged_names("jit(f)/(e1/psum:layer:one/e4/psum:jit(g)/(e5/psum:e6/psum))")
    ['jit(f)/e1/psum', 'jit(f)/layer:one/e4/psum', 'jit(f)/jit(g)/e5/psum', 'jit(f)/jit(g)/e6/psum']
    >>> merged_names("jit(f)/(e3)/e4/jit(g)")
    ['jit(f)/(e3)/e4/jit(g)']
    """
    return [each for name in op_name.split(";") for each in _alternatives(name)]


def _alternatives(name: str) -> list[str]:
    """The names that parentheses at the end of one hold, each with what stands before them."""
    start = _opening(name)
    if start < 0 or name[start - 1 : start] not in ("", "/"):
        return [name]
    parts, depth = [""], 0
    for character in name[start + 1 : -1]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == ":" and not depth and _HOLDS_ONE.search(parts[-1]):  # others are a colon in a scope's name
            parts.append("")
        else:
            parts[-1] += character
    return [each for part in parts for each in _alternatives(name[:start] + part)] if len(parts) > 1 else [name]


def _opening(name: str) -> int:
    """Where the parenthesis opens that the last character closes; -1 where it closes none."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if not depth:
            return at if name.endswith(")") else -1
    return -1


def scoped(prefix: str, scope: str, segment: str) -> str:
    """The name of an equation, ``segment``, in scopes (``layer/norm``): they come first, so that names sort by them.

    A scope whose name looks like an equation's is put in parentheses.

    >>> scoped("jit(f)/", "layer/e3", "e4")
    'jit(f)/layer/(e3)/e4'
    >>> equation_path("jit(f)/layer/(e3)/e4/sin")
    '4'
    """
    return f"{prefix}{harmless(scope)}/{segment}"


def harmless(scope: str) -> str:
    """Scopes whose names nobody takes for those of equations.

    >>> harmless("layer/e3")
    'layer/(e3)'
    """
    return "/".join(f"({name})" if _LIKE_ONE.fullmatch(name) else name for name in scope.split("/"))


def body_prefix(body: int) -> str:
    """What stands before the names of equations in body number ``body`` of an equation.

    >>> body_prefix(0), body_prefix(1)
    ('', 'b1/')
    """
    return f"b{body}/" if body else ""
