"""From a user's function to a program that an operation can hold: flat, typed, with what it closes over in front."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray, shaped, strengthened
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ...operations.elementwise import convert_element_type
from ...operations.values import PYTHON_SCALARS, typed_scalar
from ...trace.jaxpr_trace import stage
from ...trace.source import user_line, where_text
from ...trace.tracer import Tracer
from ...trace.values import aval_of, not_an_array
from ..jit.arguments import function_name
from ..jit.jitted import check_results, settings_of_trace
from .call import without_constants


class Body(NamedTuple):
    """A program, the values that it closes over, and the structure of its results."""

    program: ClosedJaxpr
    structure: Any

    @property
    def consts(self) -> list[Any]:
        """The values that the function closes over: leading operands of :attr:`opened`."""
        return self.program.consts

    @property
    def opened(self) -> ClosedJaxpr:
        """The program with what it closes over as leading operands."""
        return without_constants(self.program)


_bodies: weakref.WeakKeyDictionary[Callable[..., Any], dict[Any, Body]] = weakref.WeakKeyDictionary()


name_of = function_name


def body_of(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray]) -> Body:
    """The program of a function for arguments of that structure and those types.

    It is kept with the function, so that a loop that is run again is not traced and compiled again; a callable of ours
    around a user's function says which in ``user_function``.
    """
    key = (type(function), structure, tuple(avals), settings_of_trace())
    kept = _kept(getattr(function, "user_function", function))
    found = kept.get(key)
    if found is None:
        found = _staged(function, structure, avals)
        if not any(isinstance(c, Tracer) for c in found.consts):
            kept[key] = found
    return found


def _kept(function: Callable[..., Any]) -> dict[Any, Body]:
    try:
        return _bodies.setdefault(function, {})
    except TypeError:  # a callable that cannot be weakly referenced or hashed is traced each time
        return {}


def _staged(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray]) -> Body:
    structures: list[Any] = []

    def flat(*operands: Any) -> list[Any]:
        results, out = tree.flatten(function(*structure.unflatten(operands)))
        structures.append(out)
        return check_results(name_of(function), results, out)

    program = stage(flat, avals, name_of(function))
    return Body(program, structures[0])


def operand_aval(what: str, x: Any) -> ShapedArray:
    """The type of an operand; raises TypeError saying what it is when it is no array."""
    try:
        return aval_of(x)
    except TypeError:
        raise not_an_array(x, what) from None


def as_type(x: Any, aval: ShapedArray) -> Any:
    """An operand as a value of that dtype, weak or not."""
    if x.__class__ in PYTHON_SCALARS and not aval.weak_type:
        return typed_scalar(x, aval.dtype)
    own = aval_of(x)
    if own.dtype == aval.dtype and own.weak_type == aval.weak_type:
        return x
    return convert_element_type(x, aval.dtype, aval.weak_type)


def concrete(x: Any) -> Any:
    """The value of an operand where it is known while tracing, else None."""
    while isinstance(x, Tracer):
        x = x.concrete()
    return x


def youngest(programs: Sequence[ClosedJaxpr]) -> ClosedJaxpr:
    """The program that was made last: what is derived from several is kept with it.

    So a loop with a function of its own each time it is run, beside one that is always the same, leaves nothing with
    the latter.
    """
    return max(programs, key=lambda program: program.serial)


def permuted(program: ClosedJaxpr, operands: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    """The program with its operands and results in another order; those that are not named are left out."""
    key = ("permuted", tuple(operands), tuple(results))
    found = program.derived.get(key)
    if found is None:
        jaxpr = program.jaxpr
        invars = [jaxpr.invars[i] for i in operands]
        outvars = [jaxpr.outvars[i] for i in results]
        found = program.derived[key] = ClosedJaxpr(Jaxpr((), invars, outvars, jaxpr.raw, jaxpr.name))
    return found


def alike(bodies: Sequence[Body]) -> tuple[list[Any], list[ClosedJaxpr]]:
    """The values that several functions close over, each once, and their programs with all of them in front."""
    everything = list({id(c): c for body in bodies for c in body.consts}.values())
    keeper = youngest([body.program for body in bodies])
    return everything, [_padded(body, everything, keeper) for body in bodies]


def _padded(body: Body, everything: Sequence[Any], keeper: ClosedJaxpr) -> ClosedJaxpr:
    """A body's program with operands for all of ``everything`` in front."""
    if len(body.consts) == len(everything) and all(a is b for a, b in zip(body.consts, everything, strict=True)):
        return body.opened
    key = ("padded", body.program, tuple(id(c) for c in everything))
    found = keeper.derived.get(key)
    if found is None:
        jaxpr = body.program.jaxpr
        own = {id(c): v for c, v in zip(body.consts, jaxpr.constvars, strict=True)}
        leading = [own[id(c)] if id(c) in own else Var(aval_of(c)) for c in everything]
        made = ClosedJaxpr(Jaxpr((), [*leading, *jaxpr.invars], jaxpr.outvars, jaxpr.raw, jaxpr.name))
        found = keeper.derived[key] = made, everything  # an id must not be given out again while it is a key
    return found[0]


def without_axis(aval: ShapedArray) -> ShapedArray:
    """The type of one slice along the leading axis."""
    return shaped(aval.shape[1:], aval.dtype, aval.weak_type)


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    """The type of ``length`` values along a new leading axis."""
    return shaped((length, *aval.shape), aval.dtype, aval.weak_type)


def check_same_structure(what: str, name: str, words: tuple[str, str], first: Any, second: Any) -> None:
    """Raise TypeError unless two structures are equal.

    ``what`` says what they are of, ``name`` and ``words`` are as for :func:`differing`.
    """
    if first != second:
        raise TypeError(f"{what}: {_structural_difference(first, second, name, words)}{where_text(user_line())}")


def _structural_difference(first: Any, second: Any, path: str, words: tuple[str, str]) -> str:
    """The first place at which two structures differ, and how."""
    kind, other = first.node_data(), second.node_data()
    children, others = first.children(), second.children()
    if kind is not None and kind == other and len(children) == len(others):
        keys = kind[1] if kind[0] is dict else range(len(children))
        for key, child, match in zip(keys, children, others, strict=True):
            if child != match:
                return _structural_difference(child, match, f"{path}[{key!r}]", words)
    return f"{path}: {words[0]} {_node_text(first)} and {words[1]} {_node_text(second)}"


def _node_text(structure: Any) -> str:
    """What a tree is at its root: an array, None, a tuple of 2, a dict of 'a', 'b'."""
    node = structure.node_data()
    if node is None:
        return "an array"
    kind, data = node
    if kind is type(None):
        return "None"
    if kind is dict:
        return f"a dict of {', '.join(map(repr, data)) or 'nothing'}"
    return f"a {kind.__name__} of {len(structure.children())}"


def differing(
    structure: Any, first: Sequence[ShapedArray], second: Sequence[ShapedArray], name: str, words: tuple[str, str]
) -> str:
    """What differs between two lists of types, leaf by leaf: nothing where they agree up to being weak.

    Each difference reads ``name[path]: words[0] f32[] and words[1] i32[]``.
    """
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))]
    return "; ".join(
        f"{name}{path}: {words[0]} {a.str_short()} and {words[1]} {b.str_short()}"
        for path, a, b in zip(paths, first, second, strict=True)
        if strengthened(a) is not strengthened(b)
    )
