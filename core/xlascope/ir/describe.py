"""From a jaxpr to the record of it: names, labels, paths, lines, roles, and our count of floating-point operations."""

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
    """The record of a trace."""
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
    """Return the traits of a program's operations by name, those of the programs that it holds included."""
    kinds: set[type[Operation]] = set()
    seen: set[int] = set()

    def look(jaxpr: Jaxpr) -> None:
        seen.add(id(jaxpr))
        for operation, *_ in jaxpr.raw:
            kinds.add(type(operation))
            for body in operation.bodies():
                if id(body.jaxpr) not in seen:
                    look(body.jaxpr)

    look(program.jaxpr)
    return {kind.name: tuple(sorted(kind.traits)) for kind in sorted(kinds, key=lambda kind: kind.name) if kind.traits}


def describe(program: ClosedJaxpr) -> records.Jaxpr:
    """A program as plain data."""
    jaxpr = program.jaxpr
    names = Names()
    jaxpr_names(jaxpr, names)
    describer = _Describer(names)
    describer.arguments = frozenset(map(id, (*jaxpr.constvars, *jaxpr.invars)))
    return describer.jaxpr(jaxpr, PROGRAM)


def jaxpr_names(jaxpr: Jaxpr, names: Names) -> None:
    """Name all variables of a program in the order in which its text shows them."""
    jaxpr_text(jaxpr, names)


def spec_text(spec: object) -> str:
    """A PartitionSpec as it is shown where room is short: names without quotes.

    >>> from xlascope.sharding import PartitionSpec as P
    >>> spec_text(P("x", None, ("y", "z"))), spec_text(P("x"))
    ('P(x, None, (y, z))', 'P(x)')
    """
    return repr(spec).replace("'", "").replace(",)", ")")


class _Describer:
    """Writes one program; remembers where each value was made, so that backward equations find their forward ones."""

    def __init__(self, names: Names) -> None:
        self.names = names
        #: The paths at which each value is made: several for one in a body that is called several times.
        self.made_at: dict[int, list[EquationPath]] = {}
        #: The program's own arguments: how they lie is known when it is compiled.
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
        lies = "" if aval.explicit is None else spec_text(aval.explicit.spec)
        variables[name] = records.Variable(name, aval.shape, aval.dtype.name, aval.weak_type, label, lies)

    def _lying(self, variables: dict[str, records.Variable], values: Sequence[Any], told: Sequence[Any]) -> None:
        """Remember how an equation has values lie over devices; of several the first says it."""
        for value, sharding in zip(values, told, strict=False):
            known = variables.get(self.names.of(value)) if isinstance(value, Var) else None
            if known is not None and not known.lies and sharding is not None and id(value) not in self.arguments:
                variables[known.name] = replace(known, lies=spec_text(sharding.spec))

    def _made(self, value: Any, forward_call: EquationPath | None) -> EquationPath | None:
        """Where a forward value is made: within the forward call that the enclosing call transposes, if there."""
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
        if bodies:  # what goes into it lies so
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
