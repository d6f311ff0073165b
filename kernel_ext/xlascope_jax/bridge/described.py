"""From a jaxpr of jax to the record of it: names, types, paths, lines, scopes, passes, and our count of operations."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax._src.source_info_util import Scope, Transform

from xlascope import records
from xlascope.records.lettering import letters
from xlascope.records.paths import PROGRAM, EquationPath

from .bodies import bodies_of, open_jaxpr
from .costs import flops_of
from .differences import Jaxpr, Literal
from .lines import line_of

#: The most characters of a parameter that are told: some hold functions, meshes or whole programs.
_MOST = 200
#: Parameters that say nothing to a reader.
_UNTOLD = frozenset({"ctx_mesh", "debug_info", "jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd"})

#: jax's scope of what a checkpoint computes another time.
_AGAIN = "rematted_computation"


def describe(jaxpr: Any, call: records.SourceRange | None = None) -> records.Jaxpr:
    """A program of jax as plain data. Names of variables are unique in the whole of it.

    ``call`` is the line at which it is called: that of equations of which jax keeps no line of the user's. It keeps
    those from the jitted function inwards, and many functions of its own are jitted.
    """
    return _Describer().jaxpr(jaxpr, PROGRAM, _Holder(call), name=_name(jaxpr))


def _name(jaxpr: Any) -> str:
    named = getattr(jaxpr.debug_info, "func_name", "") or ""
    return str(named)


class _Holder(NamedTuple):
    """What holds a program: its line, and the pass that made it, which is that of all in it."""

    line: records.SourceRange | None
    role: str = "forward"


class _Describer:
    """Describes one program; remembers which forward equations are at which place, for the backward ones."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._letters = map(letters, itertools.count())
        self._forward: defaultdict[records.SourceRange, list[tuple[EquationPath, str]]] = defaultdict(list)

    def jaxpr(
        self,
        jaxpr: Any,
        outer: EquationPath,
        holder: _Holder,
        body: int = 0,
        name: str = "",
    ) -> records.Jaxpr:
        variables: dict[str, records.Variable] = {}
        self._bind(jaxpr)
        labels = _labels(jaxpr)
        for each in jaxpr.constvars:
            self._variable(variables, each)
        for each, label in zip(jaxpr.invars, labels, strict=True):
            self._variable(variables, each, label)
        equations = tuple(
            self._equation(each, outer.child(index, body), variables, holder) for index, each in enumerate(jaxpr.eqns)
        )
        return records.Jaxpr(
            name=name,
            constants=tuple(map(self._name_of, jaxpr.constvars)),
            inputs=tuple(map(self._name_of, jaxpr.invars)),
            outputs=tuple(map(self._name_of, jaxpr.outvars)),
            variables=variables,
            equations=equations,
        )

    def _equation(
        self,
        equation: Any,
        path: EquationPath,
        variables: dict[str, records.Variable],
        holder: _Holder,
    ) -> records.Equation:
        scope, role = _scope_and_role(equation.source_info.name_stack, holder.role)
        operation = equation.primitive.name
        line = line_of(equation.source_info.traceback, holder.line)
        again = _AGAIN in scope  # what is computed another time transposes nothing
        transposes = None if line is None or again or role == "forward" else self._transposed(line, operation)
        if line is not None and role == "forward":
            self._forward[line].append((path, operation))
        own = equation.params.get("name")
        bodies = tuple(
            self.jaxpr(each, path, _Holder(line, role), number, str(own) if isinstance(own, str) else _inner_name(each))
            for number, each in enumerate(bodies_of(equation))
        )
        for each in equation.outvars:
            self._variable(variables, each)
        return records.Equation(
            path=path,
            operation=operation,
            parameters=_parameters(equation.params),
            inputs=tuple(map(self._name_of, equation.invars)),
            outputs=tuple(map(self._name_of, equation.outvars)),
            role=role,  # type: ignore[arg-type]
            source=line,
            transposes=transposes,
            flops=flops_of(equation, [_total(each) for each in bodies]),
            bodies=bodies,
            scope=scope,
        )

    def _transposed(self, line: records.SourceRange, operation: str) -> EquationPath | None:
        """The forward equation that a backward one transposes: jax keeps its place. Only where that says it alone."""
        here = self._forward.get(line, [])
        alike = [path for path, other in here if other == operation]
        found = alike if len(here) > 1 else [path for path, _ in here]
        return found[0] if len(found) == 1 else None

    def _bind(self, jaxpr: Any) -> None:
        """Name the variables of a program: those of a body that is held several times anew in each place."""
        for each in (*jaxpr.constvars, *jaxpr.invars, *(out for eqn in jaxpr.eqns for out in eqn.outvars)):
            self._names[id(each)] = next(self._letters)
            self._kept.append(each)  # an id must not be given out again while it names something

    def _name_of(self, atom: Any) -> str:
        if isinstance(atom, Literal):
            return f"{_literal(atom)}:{_type(atom.aval)}"
        return self._names[id(atom)]

    def _variable(self, variables: dict[str, records.Variable], variable: Any, label: str = "") -> None:
        name, aval = self._name_of(variable), variable.aval
        shape = tuple(each if isinstance(each, int) else 0 for each in getattr(aval, "shape", ()))
        dtype = str(getattr(aval, "dtype", type(aval).__name__))
        variables[name] = records.Variable(name, shape, dtype, bool(getattr(aval, "weak_type", False)), label)


def _labels(jaxpr: Any) -> Sequence[str]:
    """What the user calls the arguments (``params['w']``); nothing where jax does not say."""
    names = getattr(jaxpr.debug_info, "arg_names", None) or ()
    count = len(jaxpr.invars)
    return [each or "" for each in names] if len(names) == count else [""] * count


def _inner_name(jaxpr: Any) -> str:
    """The name of a body that a library of jax made has no use: a name is shown where the user wrote a function."""
    name = _name(jaxpr)
    return "" if name.startswith("<") else name


def _scope_and_role(names: Any, around: str) -> tuple[str, str]:
    """The user's scopes around an equation, and the pass that made it: what holds it is of the same, or it says."""
    scopes = [each.name for each in names.stack if isinstance(each, Scope) and each.name]
    transformations = {each.name for each in names.stack if isinstance(each, Transform)}
    return "/".join(scopes), "backward" if "transpose" in transformations else around


def _parameters(params: dict[str, Any]) -> str:
    """The parameters that tell something, but for programs."""
    told = []
    for key, value in params.items():
        if key in _UNTOLD or value is None or callable(value) or _holds_program(value):
            continue
        text = str(value)
        told.append(f"{key}={text if len(text) <= _MOST else text[:_MOST] + '…'}")
    return " ".join(told)


def _holds_program(value: Any) -> bool:
    values = value if isinstance(value, tuple | list) else (value,)
    return any(isinstance(open_jaxpr(each), Jaxpr) for each in values)


def _literal(atom: Any) -> str:
    """A number with as many digits as tell it apart in its own type."""
    dtype = getattr(atom.aval, "dtype", None)
    try:
        return str(np.dtype(dtype).type(atom.val))
    except TypeError:  # a key's, which is none of NumPy's
        return str(atom.val)


def _type(aval: Any) -> str:
    short = getattr(aval, "str_short", None)
    return str(short(short_dtypes=True)) if short else str(aval)


def _total(body: records.Jaxpr) -> int:
    return sum(each.flops for each in body.equations)
