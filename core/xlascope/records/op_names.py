"""Encoding of equation paths in the names of HLO operations, and decoding from XLA's ``op_name`` metadata.

The lowering names the operations of equation 4 in a body ``e4/dot_general``, relative to the body, and a call
of that body ``jit(update)/e12/jit(loss)``. When XLA inlines the call, at every call site, it prepends the
call's name: ``jit(update)/e12/jit(loss)/e4/dot_general``. It does not where the name begins with the call's
already, so the callee's name (``jit(loss)``) is unique in the module.

When XLA outlines a part of a loop's body and inlines it again, it prepends the loop's name to whole names:
``jit(f)/e0/scan/jit(f)/e0/jit(body)/e1/tanh`` is ``jit(f)/e0/jit(body)/e1/tanh``. A callee follows an
equation's number, so the second ``jit(f)`` begins the name anew.

Merged instructions have all names: joined by ``;``, or, where XLA combines collectives of several arrays into
one, in parentheses after their common prefix: ``jit(f)/jit(body)/(e1/psum:e4/psum)``.

Of an equation that holds several bodies (a cond's branches) those after the first have a number:
``b1/e4/add`` is equation 4 in the second body, whose path ends in ``1.4``.

What a lowering rule computes an equation by has no numbers: ``jit(f)/e3/jit(igamma)/formula/log`` is equation 3.

Equations that are compiled once together share a segment: ``e3,8/tanh`` is equations 3 and 8,
``e3-58by5/tanh`` equations 3, 8, … 58. Copies of their values, into a stack or out of one, are
``stack(e3-58by5)``.
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
    """Return the path of the equation that an HLO instruction belongs to, by its ``op_name``; None if it names none.

    Of several equations it is the first.

    >>> equation_path("jit(update)/e12/jit(loss)/e4/dot_general")
    '12/4'
    >>> equation_path("jit(update)/e12/jit(branch)/b1/e4/dot_general")
    '12/1.4'
    >>> equation_path("jit(update)/copy") is None
    True
    """
    return next(iter(equation_paths(name)), None)


def equation_paths(name: str) -> list[EquationPath]:
    """Return the paths of the equations that an ``op_name`` belongs to: several if they were compiled together.

    ``name`` must not be a merged name; see :func:`merged_names`.

    >>> equation_paths("jit(f)/e3-13by5,20/jit(block)/e4/tanh")
    ['3/4', '8/4', '13/4', '20/4']
    """
    steps: list[list[str]] = []
    body = ""
    root, previous = name.partition("/")[0], ""
    for segment in name.split("/"):
        match = _SEGMENT.fullmatch(segment)
        if segment == root and _SEGMENT.fullmatch(previous) is None:  # the prefix is the name of an outlined part
            steps = []
        previous = segment
        if match is None:
            continue
        numbers, number = match.groups()
        if numbers is None:
            body = f"{number}."
        else:
            steps.append([body + number_text for number_text in _numbers(numbers)])
            body = ""
    return [EquationPath("/".join(path)) for path in itertools.product(*steps)] if steps else []


def stacked_paths(op_name: str) -> list[EquationPath]:
    """Return the paths of equations whose values an instruction copies into or out of a rerolled loop's stack.

    The list is empty for an instruction that is no such copy.

    >>> stacked_paths("jit(f)/loop/stack(e3-13by5)"), equation_paths("jit(f)/loop/stack(e3-13by5)")
    (['3', '8', '13'], [])
    """
    return equation_paths(_STACKED.sub(r"\1", op_name)) if _STACKED.search(op_name) else []


def stack_of(numbers: Sequence[int]) -> str:
    """Return the name segment for copies of values into or out of a stack.

    ``numbers`` are the indices of the equations whose values are copied, which may be unknown (empty).

    >>> stack_of([3, 8, 13]), stack_of([])
    ('stack(e3-13by5)', 'stack')
    """
    return f"stack({segment_of(numbers)})" if numbers else "stack"


#: The name segment of operations by which an equation is computed, and which are no equations.
FORMULA = "formula"
#: How the name of a loop over repeats ends.
REPEATS = "/loop/repeats"


def _numbers(terms: str) -> Iterable[str]:
    """Return the indices, as texts, that the terms of a segment stand for: ``"3,8-18by5"`` for 3, 8, 13, 18."""
    if "," not in terms and "-" not in terms:
        return (terms,)
    expanded: list[str] = []
    for term in terms.split(","):
        first, _, end = term.partition("-")
        last, _, step = end.partition("by")
        expanded += map(str, range(int(first), int(last) + 1, int(step) or 1)) if end else (first,)
    return expanded


def segment_of(numbers: Sequence[int]) -> str:
    """Return the name segment of equations with those indices, which are in order.

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
    """Return the paths of all equations in an ``op_name``; none for a name that is relative to a body.

    Bodies that are not inlined have such names, and so have the combiners of reductions and sorts.

    >>> absolute_paths("jit(f)/e1/add;jit(f)/e2/add"), absolute_paths("e1/reduce_sum")
    (['1', '2'], [])
    """
    absolute = (name for name in merged_names(op_name) if not _SEGMENT.fullmatch(name.partition("/")[0]))
    return [path for name in absolute for path in equation_paths(name)]


def repeats_in(op_name: str) -> int:
    """Return how many equations were compiled together into an instruction, which computes one of them per run.

    >>> repeats_in("jit(f)/e3-58by5/tanh"), repeats_in("jit(f)/e1/add;jit(f)/e2/add")
    (12, 1)
    """
    if "," not in op_name and "by" not in op_name:
        return 1
    return max(max(len(equation_paths(name)), 1) for name in merged_names(op_name))


def merged_names(op_name: str) -> list[str]:
    """Return the names in an ``op_name``, several where XLA merged instructions.

    >>> merged_names("jit(f)/e1/add;jit(f)/e2/add")
    ['jit(f)/e1/add', 'jit(f)/e2/add']
    >>> merged_names("jit(f)/(e1/psum:layer:one/e4/psum:jit(g)/(e5/psum:e6/psum))")
    ['jit(f)/e1/psum', 'jit(f)/layer:one/e4/psum', 'jit(f)/jit(g)/e5/psum', 'jit(f)/jit(g)/e6/psum']
    >>> merged_names("jit(f)/(e3)/e4/jit(g)")
    ['jit(f)/(e3)/e4/jit(g)']
    """
    return [merged for name in op_name.split(";") for merged in _alternatives(name)]


def _alternatives(name: str) -> list[str]:
    """Return the names that a merged name in parentheses stands for, each with the prefix before the parentheses."""
    start = _find_opening_parenthesis(name)
    if start < 0 or name[start - 1 : start] not in ("", "/"):
        return [name]
    parts, depth = [""], 0
    for character in name[start + 1 : -1]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == ":" and not depth and _HOLDS_ONE.search(parts[-1]):  # other colons belong to a scope's name
            parts.append("")
        else:
            parts[-1] += character
    return [option for part in parts for option in _alternatives(name[:start] + part)] if len(parts) > 1 else [name]


def _find_opening_parenthesis(name: str) -> int:
    """Return the index of the parenthesis that the last character closes; -1 if the last character is no ``)``."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if not depth:
            return at if name.endswith(")") else -1
    return -1


def scoped_name(prefix: str, scope: str, segment: str) -> str:
    """Return the name of an equation: ``prefix``, then its scopes (``layer/norm``), then its own ``segment``.

    A scope whose name looks like an equation's is put in parentheses.

    >>> scoped_name("jit(f)/", "layer/e3", "e4")
    'jit(f)/layer/(e3)/e4'
    >>> equation_path("jit(f)/layer/(e3)/e4/sin")
    '4'
    """
    return f"{prefix}{escape_scope(scope)}/{segment}"


def escape_scope(scope: str) -> str:
    """Return a scope with names that look like those of equations in parentheses.

    >>> escape_scope("layer/e3")
    'layer/(e3)'
    """
    return "/".join(f"({name})" if _LIKE_ONE.fullmatch(name) else name for name in scope.split("/"))


def body_prefix(body: int) -> str:
    """Return the prefix of the names of equations in body number ``body`` of an equation.

    >>> body_prefix(0), body_prefix(1)
    ('', 'b1/')
    """
    return f"b{body}/" if body else ""
