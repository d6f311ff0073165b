"""Conversion of a jax jaxpr to its record: names, types, paths, lines, scopes, roles and estimated operations."""

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
from .flop_counts import flops_of
from .jax_compat import Jaxpr, Literal, scan_counts
from .source_lines import find_user_line

#: The maximum number of characters shown of a parameter: some contain functions, meshes or whole programs.
_MAX_PARAMETER_CHARS = 200
#: Parameters that are not shown.
_HIDDEN_PARAMETERS = frozenset(
    {"ctx_mesh", "debug_info", "jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "ft_in", "ft_out"}
)

#: jax's name-stack scope of rematerialized equations.
_REMATERIALIZED_SCOPE = "rematted_computation"


def describe_jaxpr(jaxpr: Any, call: records.SourceRange | None = None) -> records.Jaxpr:
    """Return a jax jaxpr as plain data, with variable names that are unique in the whole program.

    ``call`` is the line of the call. It stands for equations without a line of the user's: jax keeps
    tracebacks only from the jitted function inwards, and many of its own functions are jitted.
    """
    return _JaxDescriber().describe(jaxpr, PROGRAM, _EnclosingContext(call), name=_function_name(jaxpr))


def _function_name(jaxpr: Any) -> str:
    name = getattr(jaxpr.debug_info, "func_name", "") or ""
    return str(name)


class _EnclosingContext(NamedTuple):
    """Context that a body's equations inherit: the line of the equation that contains it, and its role."""

    line: records.SourceRange | None
    role: str = "forward"


class _JaxDescriber:
    """Converter of one program to its record; its variables get names that are unique in the whole program.

    It stores forward equations by line, to find those that backward equations transpose.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._live_atoms: list[Any] = []
        self._letters = map(letters, itertools.count())
        self._forward_equations: defaultdict[records.SourceRange, list[tuple[EquationPath, str]]] = defaultdict(list)

    def describe(
        self,
        jaxpr: Any,
        outer: EquationPath,
        context: _EnclosingContext,
        body: int = 0,
        name: str = "",
    ) -> records.Jaxpr:
        """Return a jaxpr as plain data.

        ``outer`` is the path of the equation that contains it, and ``body`` its number among that equation's bodies.
        """
        variables: dict[str, records.Variable] = {}
        self._assign_names(jaxpr)
        labels = _argument_labels(jaxpr)
        for item in jaxpr.constvars:
            self._add_variable(variables, item)
        for item, label in zip(jaxpr.invars, labels, strict=True):
            self._add_variable(variables, item, label)
        equations = tuple(
            self._describe_equation(item, outer.child(index, body), variables, context)
            for index, item in enumerate(jaxpr.eqns)
        )
        return records.Jaxpr(
            name=name,
            constants=tuple(map(self._name_of, jaxpr.constvars)),
            inputs=tuple(map(self._name_of, jaxpr.invars)),
            outputs=tuple(map(self._name_of, jaxpr.outvars)),
            variables=variables,
            equations=equations,
        )

    def _describe_equation(
        self,
        equation: Any,
        path: EquationPath,
        variables: dict[str, records.Variable],
        context: _EnclosingContext,
    ) -> records.Equation:
        """Return an equation as plain data; its results are added to ``variables``, those of its jaxpr by name.

        ``path`` is its path, ``context`` what it inherits from the equation around it.
        """
        scope, role = _scope_and_role(equation.source_info.name_stack, context.role)
        operation = equation.primitive.name
        line = find_user_line(equation.source_info.traceback, context.line)
        is_rematerialized = _REMATERIALIZED_SCOPE in scope  # a rematerialized equation transposes nothing
        transposes = (
            None
            if line is None or is_rematerialized or role == "forward"
            else self._find_transposed_path(line, operation)
        )
        if line is not None and role == "forward":
            self._forward_equations[line].append((path, operation))
        name = equation.params.get("name")
        bodies = tuple(
            self.describe(
                item,
                path,
                _EnclosingContext(line, role),
                number,
                str(name) if isinstance(name, str) else _body_name(item),
            )
            for number, item in enumerate(bodies_of(equation))
        )
        for item in equation.outvars:
            self._add_variable(variables, item)
        return records.Equation(
            path=path,
            operation=operation,
            parameters=_format_parameters(_readable_parameters(equation)),
            inputs=tuple(map(self._name_of, equation.invars)),
            outputs=tuple(map(self._name_of, equation.outvars)),
            role=role,  # type: ignore[arg-type]
            source=line,
            transposes=transposes,
            flops=flops_of(equation, [_total_flops(item) for item in bodies]),
            bodies=bodies,
            scope=scope,
        )

    def _find_transposed_path(self, line: records.SourceRange, operation: str) -> EquationPath | None:
        """Return the path of the forward equation that a backward one on the same line transposes; None if ambiguous.

        ``operation`` is the name of the backward equation's operation.
        """
        at_line = self._forward_equations.get(line, [])
        same_operation = [path for path, forward_operation in at_line if forward_operation == operation]
        candidates = same_operation if len(at_line) > 1 else [path for path, _ in at_line]
        return candidates[0] if len(candidates) == 1 else None

    def _assign_names(self, jaxpr: Any) -> None:
        """Assign names to the variables of a jaxpr; a body that occurs several times gets new names each time."""
        for variable in (*jaxpr.constvars, *jaxpr.invars, *(out for eqn in jaxpr.eqns for out in eqn.outvars)):
            self._names[id(variable)] = next(self._letters)
            self._live_atoms.append(variable)  # keeps the object alive so that its id is not reused

    def _name_of(self, atom: Any) -> str:
        if isinstance(atom, Literal):
            return f"{_format_literal(atom)}:{_format_type(atom.aval)}"
        return self._names[id(atom)]

    def _add_variable(self, variables: dict[str, records.Variable], variable: Any, label: str = "") -> None:
        name, aval = self._name_of(variable), variable.aval
        shape = tuple(size if isinstance(size, int) else 0 for size in getattr(aval, "shape", ()))
        dtype = str(getattr(aval, "dtype", type(aval).__name__))
        variables[name] = records.Variable(name, shape, dtype, bool(getattr(aval, "weak_type", False)), label)


def _argument_labels(jaxpr: Any) -> Sequence[str]:
    """Return the user's names of the arguments (``params['w']``), empty where jax does not provide them."""
    names = getattr(jaxpr.debug_info, "arg_names", None) or ()
    count = len(jaxpr.invars)
    return [label or "" for label in names] if len(names) == count else [""] * count


def _body_name(jaxpr: Any) -> str:
    """Return the name of a body, or ``""`` if it is a lambda or other name that no user gave."""
    name = _function_name(jaxpr)
    return "" if name.startswith("<") else name


def _scope_and_role(names: Any, enclosing_role: str) -> tuple[str, str]:
    """Return the user's scopes around an equation as text, and its role.

    ``names`` is jax's name stack; an equation that is not transposed has the role of the equation around it.
    """
    scopes = [entry.name for entry in names.stack if isinstance(entry, Scope) and entry.name]
    transformations = {entry.name for entry in names.stack if isinstance(entry, Transform)}
    return "/".join(scopes), "backward" if "transpose" in transformations else enclosing_role


def _readable_parameters(equation: Any) -> dict[str, Any]:
    """Return the parameters of an equation; those of a ``scan`` have the numbers that a newer jax does not store."""
    if equation.primitive.name != "scan" or "num_carry" in equation.params:
        return dict(equation.params)
    num_consts, num_carry = scan_counts(equation)
    return {**equation.params, "num_carry": num_carry, "num_consts": num_consts}


def _format_parameters(params: dict[str, Any]) -> str:
    """Format the informative parameters of an equation, without functions and jaxprs."""
    parts = []
    for key, value in params.items():
        if key in _HIDDEN_PARAMETERS or value is None or callable(value) or _contains_jaxpr(value):
            continue
        text = str(value)
        parts.append(f"{key}={text if len(text) <= _MAX_PARAMETER_CHARS else text[:_MAX_PARAMETER_CHARS] + '…'}")
    return " ".join(parts)


def _contains_jaxpr(value: Any) -> bool:
    values = value if isinstance(value, tuple | list) else (value,)
    return any(isinstance(open_jaxpr(item), Jaxpr) for item in values)


def _format_literal(atom: Any) -> str:
    """Format a number with the digits needed to identify it in its own dtype."""
    dtype = getattr(atom.aval, "dtype", None)
    try:
        return str(np.dtype(dtype).type(atom.val))
    except TypeError:  # the dtype of a PRNG key is not a NumPy dtype
        return str(atom.val)


def _format_type(aval: Any) -> str:
    short = getattr(aval, "str_short", None)
    return str(short(short_dtypes=True)) if short else str(aval)


def _total_flops(body: records.Jaxpr) -> int:
    return sum(equation.flops for equation in body.equations)
