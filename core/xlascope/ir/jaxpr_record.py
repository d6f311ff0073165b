"""Conversion of a jaxpr to a record: names, labels, paths, lines, roles, and estimated FLOPs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import records
from ..records.paths import PROGRAM, EquationPath
from ..records.traits import Trait
from .jaxpr import ClosedJaxpr, Jaxpr, Literal, RawEquation, Var
from .operation import Operation
from .printer import VariableNames, drop_none_parameters, format_jaxpr, format_parameter
from .source_texts import collect_source_texts
from .user_frames import locate


def make_traced_record(
    program: ClosedJaxpr,
    number: int,
    began: float,
    seconds: float,
    reason: str,
    fix: str,
    call_site: records.SourceRange | None,
    origin: records.Origin = "again",
) -> records.Traced:
    """Return the record of the trace of a program.

    ``number`` is the program's number, ``began`` and ``seconds`` are start and duration of the trace.
    ``reason`` says why it was traced, ``fix`` how to avoid that; ``call_site`` is the user's line, ``origin``
    the kind of reason. Equations of an ``operation`` that were not traced, which have no line of their own, have that
    of the call.
    """
    described = describe_program(program, call_site if origin == "operation" else None)
    return records.Traced(
        program=number,
        function=program.name,
        time=began,
        seconds=seconds,
        jaxpr=described,
        text=format_jaxpr(program),
        reason=reason,
        call_site=call_site,
        sources=collect_source_texts(described),
        fix=fix,
        origin=origin,
        traits=traits_of(program),
    )


def traits_of(program: ClosedJaxpr) -> dict[str, tuple[Trait, ...]]:
    """Return the traits of a program's operations, sorted, by operation name, including those of nested programs."""
    kinds: set[type[Operation]] = set()
    visited: set[int] = set()

    def visit(jaxpr: Jaxpr) -> None:
        visited.add(id(jaxpr))
        for operation, *_ in jaxpr.raw:
            kinds.add(type(operation))
            for body in operation.bodies():
                if id(body.jaxpr) not in visited:
                    visit(body.jaxpr)

    visit(program.jaxpr)
    return {kind.name: tuple(sorted(kind.traits)) for kind in sorted(kinds, key=lambda kind: kind.name) if kind.traits}


def describe_program(program: ClosedJaxpr, default_source: records.SourceRange | None = None) -> records.Jaxpr:
    """Return the record of a program: plain data with names, types, paths and user lines.

    ``default_source`` is the line of equations without one of their own.
    """
    jaxpr = program.jaxpr
    names = VariableNames()
    assign_names(jaxpr, names)
    describer = _JaxprDescriber(names, default_source)
    describer.arguments = frozenset(map(id, (*jaxpr.constvars, *jaxpr.invars)))
    return describer.describe_jaxpr(jaxpr, PROGRAM)


def assign_names(jaxpr: Jaxpr, names: VariableNames) -> None:
    """Assign names to all variables of a program in the order of its text; they are stored in ``names``."""
    format_jaxpr(jaxpr, names)


def format_spec(spec: object) -> str:
    """Return the short text of a PartitionSpec: names without quotes.

    >>> from xlascope.sharding import PartitionSpec as P
    >>> format_spec(P("x", None, ("y", "z"))), format_spec(P("x"))
    ('P(x, None, (y, z))', 'P(x)')
    """
    return repr(spec).replace("'", "").replace(",)", ")")


class _JaxprDescriber:
    """Converter of one program to its record.

    It finds the forward equation of a backward one as the equation that computes the origin's forward value.
    ``names`` are the names of the variables, ``default_source`` is the line of equations without one of their own.
    """

    def __init__(self, names: VariableNames, default_source: records.SourceRange | None = None) -> None:
        self.names = names
        self.default_source = default_source
        #: The paths of the equations that compute each value: several in a body that is called several times.
        self.paths_by_value: dict[int, list[EquationPath]] = {}
        #: The program's own arguments, whose shardings are known only when it is compiled.
        self.arguments: frozenset[int] = frozenset()

    def describe_jaxpr(
        self, jaxpr: Jaxpr, outer: EquationPath, body: int = 0, forward_call: EquationPath | None = None
    ) -> records.Jaxpr:
        """Return the record of a program or of a body of it.

        ``outer`` is the path of the equation that holds the body, ``body`` the body's index there.
        ``forward_call`` is the path of the forward equation that corresponds to the one that holds the body,
        if there is one.
        """
        variables: dict[str, records.Variable] = {}
        labels = [*[""] * len(jaxpr.constvars), *jaxpr.argument_names]
        for index, v in enumerate((*jaxpr.constvars, *jaxpr.invars)):
            self._add_variable(variables, v, labels[index] if index < len(labels) else "")
        equations = []
        for index, raw in enumerate(jaxpr.raw):
            equations.append(self._describe_equation(raw, outer.child(index, body), variables, forward_call))
        return records.Jaxpr(
            name=jaxpr.name,
            constants=tuple(self.names.of(v) for v in jaxpr.constvars),
            inputs=tuple(self.names.of(v) for v in jaxpr.invars),
            outputs=tuple(self.names.of(x) for x in jaxpr.outvars),
            variables=variables,
            equations=tuple(equations),
        )

    def _add_variable(self, variables: dict[str, records.Variable], v: Var, label: str = "") -> None:
        name = self.names.of(v)
        aval = v.aval
        sharding_text = "" if aval.explicit is None else format_spec(aval.explicit.spec)
        variables[name] = records.Variable(name, aval.shape, aval.dtype.name, aval.weak_type, label, sharding_text)

    def _note_shardings(
        self, variables: dict[str, records.Variable], values: Sequence[Any], shardings: Sequence[Any]
    ) -> None:
        """Set the shardings that an equation gives to values in ``variables``; the first of several equations wins.

        ``shardings`` has a sharding or None for each of ``values``.
        """
        for value, sharding in zip(values, shardings, strict=False):
            variable = variables.get(self.names.of(value)) if isinstance(value, Var) else None
            if variable is not None and not variable.lies and sharding is not None and id(value) not in self.arguments:
                variables[variable.name] = replace(variable, lies=format_spec(sharding.spec))

    def _find_path(self, value: Any, forward_call: EquationPath | None) -> EquationPath | None:
        """Return the path of the equation that computes a forward value, or None.

        Of several paths, one inside the equation ``forward_call`` is preferred.
        """
        paths = self.paths_by_value.get(id(value), ())
        within = (path for path in paths if forward_call is not None and path.within(forward_call))
        return next(within, paths[0] if paths else None)

    def _describe_equation(
        self,
        raw: RawEquation,
        path: EquationPath,
        variables: dict[str, records.Variable],
        forward_call: EquationPath | None,
    ) -> records.Equation:
        """Return the record of an equation, and add its results to ``variables``, the records by name.

        ``path`` is the equation's path; ``forward_call`` is as for :meth:`describe_jaxpr`.
        """
        operation, inputs, outputs, code, lasti, origin = raw
        forward = None if origin is None else self._find_path(origin.forward, forward_call)
        bodies = tuple(
            self.describe_jaxpr(body.jaxpr, path, number, forward) for number, body in enumerate(operation.bodies())
        )
        if bodies:  # shardings of its operands
            self._note_shardings(variables, inputs, operation.requested_shardings())
        for v in outputs:
            self._add_variable(variables, v)
            self.paths_by_value.setdefault(id(v), []).append(path)
        self._note_shardings(variables, outputs, operation.inferred_shardings())
        parameters = {
            k: v for k, v in drop_none_parameters(operation).items() if not isinstance(v, (ClosedJaxpr, Jaxpr))
        }
        return records.Equation(
            path=path,
            operation=operation.name,
            parameters=" ".join(f"{key}={format_parameter(value)}" for key, value in parameters.items()),
            inputs=tuple(self.names.of(x) for x in inputs),
            outputs=tuple(self.names.of(v) for v in outputs),
            role=origin.role if origin is not None else "forward",  # type: ignore[arg-type]
            source=locate(code, lasti) or self.default_source,
            transposes=forward,
            flops=operation.flops_of_bodies([_total_flops(body) for body in bodies])
            if bodies
            else operation.flops(_avals_of(inputs), _avals_of(outputs)),
            bodies=bodies,
            scope=origin.scope if origin is not None else "",
        )


def _avals_of(atoms: Sequence[Var | Literal]) -> list[Any]:
    return [x.aval for x in atoms]


def _total_flops(body: records.Jaxpr) -> int:
    return sum(equation.flops for equation in body.equations)
