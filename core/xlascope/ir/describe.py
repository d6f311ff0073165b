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
from .printer import Names, jaxpr_text, parameter_text, shown_parameters
from .source_texts import source_texts
from .sources import locate


def traced_record(
    program: ClosedJaxpr,
    number: int,
    began: float,
    seconds: float,
    reason: str,
    fix: str,
    call_site: records.SourceRange | None,
    origin: records.Origin = "again",
) -> records.Traced:
    """Return the record of a trace."""
    described = describe(program)
    return records.Traced(
        program=number,
        function=program.name,
        time=began,
        seconds=seconds,
        jaxpr=described,
        text=jaxpr_text(program),
        reason=reason,
        call_site=call_site,
        sources=source_texts(described),
        fix=fix,
        origin=origin,
        traits=traits_of(program),
    )


def traits_of(program: ClosedJaxpr) -> dict[str, tuple[Trait, ...]]:
    """Return the traits of a program's operations by name, including those of nested programs."""
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


def describe(program: ClosedJaxpr) -> records.Jaxpr:
    """Convert a program to plain data."""
    jaxpr = program.jaxpr
    names = Names()
    jaxpr_names(jaxpr, names)
    describer = _Describer(names)
    describer.arguments = frozenset(map(id, (*jaxpr.constvars, *jaxpr.invars)))
    return describer.jaxpr(jaxpr, PROGRAM)


def jaxpr_names(jaxpr: Jaxpr, names: Names) -> None:
    """Assign names to all variables of a program in the order of its text."""
    jaxpr_text(jaxpr, names)


def spec_text(spec: object) -> str:
    """Return the short text of a PartitionSpec: names without quotes.

    >>> from xlascope.sharding import PartitionSpec as P
    >>> spec_text(P("x", None, ("y", "z"))), spec_text(P("x"))
    ('P(x, None, (y, z))', 'P(x)')
    """
    return repr(spec).replace("'", "").replace(",)", ")")


class _Describer:
    """Converter of one program, which finds the forward equations of backward ones by where values are computed."""

    def __init__(self, names: Names) -> None:
        self.names = names
        #: The paths of the equations that compute each value: several in a body that is called several times.
        self.made_at: dict[int, list[EquationPath]] = {}
        #: The program's own arguments, whose shardings are known only when it is compiled.
        self.arguments: frozenset[int] = frozenset()

    def jaxpr(
        self, jaxpr: Jaxpr, outer: EquationPath, body: int = 0, forward_call: EquationPath | None = None
    ) -> records.Jaxpr:
        variables: dict[str, records.Variable] = {}
        labels = [*[""] * len(jaxpr.constvars), *jaxpr.argument_names]
        for index, v in enumerate((*jaxpr.constvars, *jaxpr.invars)):
            self._variable(variables, v, labels[index] if index < len(labels) else "")
        equations = []
        for index, raw in enumerate(jaxpr.raw):
            equations.append(self._equation(raw, outer.child(index, body), variables, forward_call))
        return records.Jaxpr(
            name=jaxpr.name,
            constants=tuple(self.names.of(v) for v in jaxpr.constvars),
            inputs=tuple(self.names.of(v) for v in jaxpr.invars),
            outputs=tuple(self.names.of(x) for x in jaxpr.outvars),
            variables=variables,
            equations=tuple(equations),
        )

    def _variable(self, variables: dict[str, records.Variable], v: Var, label: str = "") -> None:
        name = self.names.of(v)
        aval = v.aval
        sharding_text = "" if aval.explicit is None else spec_text(aval.explicit.spec)
        variables[name] = records.Variable(name, aval.shape, aval.dtype.name, aval.weak_type, label, sharding_text)

    def _lying(self, variables: dict[str, records.Variable], values: Sequence[Any], shardings: Sequence[Any]) -> None:
        """Record the shardings that an equation gives to values; the first of several equations wins."""
        for value, sharding in zip(values, shardings, strict=False):
            variable = variables.get(self.names.of(value)) if isinstance(value, Var) else None
            if variable is not None and not variable.lies and sharding is not None and id(value) not in self.arguments:
                variables[variable.name] = replace(variable, lies=spec_text(sharding.spec))

    def _made(self, value: Any, forward_call: EquationPath | None) -> EquationPath | None:
        """Return the path of the equation that computes a forward value, preferably within the given forward call."""
        paths = self.made_at.get(id(value), ())
        within = (path for path in paths if forward_call is not None and path.within(forward_call))
        return next(within, paths[0] if paths else None)

    def _equation(
        self,
        raw: RawEquation,
        path: EquationPath,
        variables: dict[str, records.Variable],
        forward_call: EquationPath | None,
    ) -> records.Equation:
        operation, inputs, outputs, code, lasti, origin = raw
        forward = None if origin is None else self._made(origin.forward, forward_call)
        bodies = tuple(self.jaxpr(body.jaxpr, path, number, forward) for number, body in enumerate(operation.bodies()))
        if bodies:  # shardings of its operands
            self._lying(variables, inputs, operation.wishes())
        for v in outputs:
            self._variable(variables, v)
            self.made_at.setdefault(id(v), []).append(path)
        self._lying(variables, outputs, operation.gives())
        parameters = {k: v for k, v in shown_parameters(operation).items() if not isinstance(v, (ClosedJaxpr, Jaxpr))}
        return records.Equation(
            path=path,
            operation=operation.name,
            parameters=" ".join(f"{key}={parameter_text(value)}" for key, value in parameters.items()),
            inputs=tuple(self.names.of(x) for x in inputs),
            outputs=tuple(self.names.of(v) for v in outputs),
            role=origin.role if origin is not None else "forward",  # type: ignore[arg-type]
            source=locate(code, lasti),
            transposes=forward,
            flops=operation.flops_of_bodies([_total(body) for body in bodies])
            if bodies
            else operation.flops(_types(inputs), _types(outputs)),
            bodies=bodies,
            scope=origin.scope if origin is not None else "",
        )


def _types(atoms: Sequence[Var | Literal]) -> list[Any]:
    return [x.aval for x in atoms]


def _total(body: records.Jaxpr) -> int:
    return sum(equation.flops for equation in body.equations)
