"""Type checker for jaxprs: invariants of every program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..errors import JaxprTypeError
from .avals import ShapedArray, strip_weak_type
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var


def check_jaxpr(program: ClosedJaxpr) -> None:
    """Check a program and the programs inside it; raise JaxprTypeError naming the equation that is wrong.

    Every variable is defined once, before it is used; literals are scalars of their type; each equation's results
    have the types that its operation gives for its operands; constants have the shapes of their variables.
    """
    _check_constants(program)
    _check_body(program.jaxpr, program.name)


def _check_constants(program: ClosedJaxpr) -> None:
    variables = program.jaxpr.constvars
    if len(variables) != len(program.consts):
        raise JaxprTypeError(f"{program.name}: {len(variables)} constant variables for {len(program.consts)} constants")
    for variable, value in zip(variables, program.consts, strict=True):
        if tuple(value.shape) != variable.aval.shape:
            raise JaxprTypeError(f"{program.name}: a constant of shape {value.shape} for a variable {variable.aval}")


def _check_body(jaxpr: Jaxpr, where: str) -> None:
    """Check the equations of a program, and the programs in them; ``where`` is its name for errors."""
    defined: set[int] = set()
    for variable in (*jaxpr.constvars, *jaxpr.invars):
        _define(variable, defined, f"the arguments of {where}")
    for index, equation in enumerate(jaxpr.eqns):
        location = f"equation {index} ({equation.operation.name}) of {where or 'the program'}"
        for x in equation.invars:
            _check_atom(x, defined, location)
        _check_types(equation.operation, equation.invars, equation.outvars, location)
        for body in equation.operation.bodies():
            _check_call(body, location)
        for variable in equation.outvars:
            _define(variable, defined, location)
    for x in jaxpr.outvars:
        _check_atom(x, defined, f"the results of {where or 'the program'}")


def _define(variable: Var, defined: set[int], location: str) -> None:
    if variable.__class__ is not Var:
        _fail(location, f"{variable!r} is a {type(variable).__name__}, not a variable: its trace has not ended")
    if id(variable) in defined:
        _fail(location, f"{variable!r} is defined a second time")
    defined.add(id(variable))


def _check_atom(x: Atom, defined: set[int], location: str) -> None:
    if x.__class__ is Literal:
        _check_literal(x, location)
    elif id(x) not in defined:
        _fail(location, f"{x!r} is used before it is defined")


def _check_literal(x: Any, location: str) -> None:
    shape, dtype = getattr(x.val, "shape", ()), getattr(x.val, "dtype", None)
    if shape != () or x.aval.shape != ():
        _fail(location, f"the literal {x!r} is no scalar")
    if dtype != x.aval.dtype:
        _fail(location, f"the literal {x!r} holds a value of dtype {dtype}")


def _check_types(operation: Any, inputs: Sequence[Atom], outputs: Sequence[Var], location: str) -> None:
    """Raise JaxprTypeError unless the results have the types that the operation gives for its operands.

    ``location`` names the equation.
    """
    operands = [x.aval for x in inputs]
    try:
        expected = operation.result_types(tuple(operands))
    except (TypeError, ValueError) as error:
        _fail(location, f"the operands {_format_avals(operands)} do not fit: {error}")
    actual = [v.aval for v in outputs]
    if [strip_weak_type(a) for a in expected] != [strip_weak_type(a) for a in actual]:
        _fail(
            location, f"the results have types {_format_avals(actual)}, the operation gives {_format_avals(expected)}"
        )


def _check_call(body: ClosedJaxpr, location: str) -> None:
    try:
        check_jaxpr(body)
    except JaxprTypeError as error:
        _fail(location, f"inside it, {error}")


def _format_avals(avals: Sequence[ShapedArray]) -> str:
    return f"({', '.join(aval.str_short() for aval in avals)})"


def _fail(location: str, complaint: str) -> NoReturn:
    raise JaxprTypeError(f"{location}: {complaint}")
