"""linear_transpose: the transpose of a linear function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..control.programs.function_names import defined_at
from ..control.programs.program_rewrites import convert_constvars_to_operands
from ..dtypes import is_differentiable
from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr, Equation, Literal
from ..ir.markers import ZERO, make_linear_input
from ..trace.jaxpr_trace import stage
from ..trace.traceback_filtering import api_boundary
from ..trace.values import invalid_operand_error, literal_operand
from ..transforms.dce import find_dependent_op_results
from ..transforms.evaluate import evaluate
from ..transforms.transpose import transpose_program
from .argnames import name_of
from .differentiated_arguments import at, leaf_name, location_text, require_callable
from .inspection import abstract
from .tangent_checks import MismatchErrors, check_tangents, cotangent_namer, dtype_name
from .tree_adapters import FunctionOutputs, as_array, flatten_function

_ERRORS = MismatchErrors(tree=TypeError, shape=TypeError, dtype=TypeError)


@api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """Return the transpose of a linear function, from a cotangent of its result to those of its arguments.

    ``primals`` define the shapes and dtypes of the arguments (arrays, scalars, objects with a shape and a dtype,
    trees of them); nothing is computed with them. For linear functions the result is that of :func:`vjp`, without
    a forward pass. Arguments and results are all floating-point or complex, or all integers. Raises
    NotImplementedError naming the first equation that is not linear and its line; constants that are added to a
    linear function are allowed.

    >>> import xlascope as xs
    >>> back = xs.linear_transpose(lambda x, y: 2.0 * x - y, 1.0, 1.0)
    >>> print(*back(3.0))
    6.0 -3.0
    """
    require_callable("linear_transpose", fun)
    operands, structure = tree.flatten(primals)
    avals = [_aval(fun, structure, i, x) for i, x in enumerate(operands)]
    flat, outputs = flatten_function(fun, fun, structure, False)
    program = stage(flat, avals, name_of(fun))
    _require_same_kind(fun, avals, program.out_avals)
    nonlinear = first_nonlinear(program, (True,) * len(avals))
    if nonlinear is not None:
        equation, reason = nonlinear
        raise NotImplementedError(
            f"linear_transpose takes a linear function, but in {name_of(fun)}{defined_at(fun)} {reason}"
            f"{location_text(equation.code, equation.lasti)}. Use vjp for the derivative at a point."
        )
    transposed = _LinearTranspose(fun, convert_constvars_to_operands(program), structure, len(program.consts), outputs)
    return tree.Partial(transposed, program.consts)


def _aval(fun: Callable[..., Any], structure: Any, index: int, x: Any) -> ShapedArray:
    try:
        return abstract(x)
    except TypeError:
        positions = range(len(structure.children()))
        raise invalid_operand_error(x, f"{leaf_name(structure, positions, index)} of {name_of(fun)}") from None


def _require_same_kind(fun: Callable[..., Any], avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> None:
    """Raise TypeError if some argument and result types are integers and others floating-point or complex."""
    kinds = {is_differentiable(aval.dtype) for aval in (*avals, *out_avals)}
    if len(kinds) > 1:
        inputs, outputs = (", ".join(dtype_name(aval.dtype) for aval in side) for side in (avals, out_avals))
        raise TypeError(
            f"linear_transpose takes functions from floating-point or complex values to such, or from integers to "
            f"integers; {name_of(fun)}{defined_at(fun)} goes from ({inputs}) to ({outputs}){at()}. "
            "Close over arguments of the other kind."
        )


class _LinearTranspose:
    """Transpose of a linear program: called with constants and a cotangent, it returns cotangents of the arguments.

    The first operands of the program are ``constants`` constants. ``structure`` is that of the arguments.
    """

    __slots__ = ("constants", "fun", "in_structure", "out_structure", "program")

    def __init__(
        self, fun: Callable[..., Any], program: ClosedJaxpr, structure: Any, constants: int, outputs: FunctionOutputs
    ) -> None:
        self.fun = fun
        self.program = program
        self.in_structure, self.out_structure = structure, outputs.structure
        self.constants = constants

    def __call__(self, constants: Sequence[Any], cotangent: Any) -> Any:
        out_avals, avals = self.program.out_avals, self.program.in_avals[self.constants :]
        name = cotangent_namer(lambda: f"the linear transpose of {name_of(self.fun)}")
        cotangent_leaves = check_tangents(cotangent, self.out_structure, out_avals, name, _ERRORS, integers=True)
        linear = (False,) * self.constants + (True,) * len(avals)
        program, nonzero_out = transpose_program(self.program, linear, (True,) * len(cotangent_leaves))
        received = iter(evaluate(program, *constants, *cotangent_leaves))
        cotangents = [next(received) if m else ZERO for m in nonzero_out]
        return self.in_structure.unflatten(map(as_array, cotangents, avals))


def first_nonlinear(program: ClosedJaxpr, linear: Sequence[bool]) -> tuple[Equation, str] | None:
    """Return the first nonlinear equation of a program and the reason, as text; None if there is none.

    ``linear`` is the mask of the operands in which the program should be linear.
    """
    dependent_ids = {id(v) for v, is_marked in zip(program.jaxpr.invars, linear, strict=True) if is_marked}
    for equation in program.eqns:
        depends = [id(x) in dependent_ids for x in equation.invars]
        if not any(depends):
            continue
        inner = _first_nonlinear_in_call(equation, depends)
        if inner is not None:
            return inner
        reason = _explain_nonlinearity(equation, depends)
        if reason is not None:
            return equation, reason
        depends_out = find_dependent_op_results(equation.operation, depends, len(equation.outvars))
        dependent_ids.update(id(v) for v, is_marked in zip(equation.outvars, depends_out, strict=True) if is_marked)
    return None


def _first_nonlinear_in_call(equation: Equation, depends: Sequence[bool]) -> tuple[Equation, str] | None:
    """Return the first nonlinear equation in the program that a ``jit`` equation calls; None if there is none.

    ``depends`` says for each operand whether it depends on the arguments.
    """
    bodies = equation.operation.bodies()
    if len(bodies) != 1 or len(bodies[0].jaxpr.invars) != len(depends):
        return None
    return first_nonlinear(bodies[0], depends) if equation.operation.name == "jit" else None


def _explain_nonlinearity(equation: Equation, depends: Sequence[bool]) -> str | None:
    """Return why an equation is not linear in the operands that depend on the arguments; None if it is.

    ``depends`` marks these operands. The transpose rule is called with a marker in place of each of them:
    products of two of them fail, since a marker has no value; rules return no cotangent for operands in which
    the operation is not linear.
    """
    operation = equation.operation
    answers: list[Any] = []

    def apply_transpose_rule(*arguments: Any) -> list[Any]:
        count = len(equation.outvars)
        nonlinear_values = iter(arguments[count:])
        operands = [
            make_linear_input(x.aval)
            if is_dependent
            else literal_operand(x)
            if x.__class__ is Literal
            else next(nonlinear_values)
            for x, is_dependent in zip(equation.invars, depends, strict=True)
        ]
        answers.extend(operation.transpose_rule(arguments[:count], operands))
        return []

    nonlinear_avals = [
        x.aval
        for x, is_dependent in zip(equation.invars, depends, strict=True)
        if not is_dependent and x.__class__ is not Literal
    ]
    try:
        stage(apply_transpose_rule, [*(v.aval for v in equation.outvars), *nonlinear_avals])
    except NotImplementedError:
        return f"{operation.name} is not linear"
    except Exception:
        if sum(depends) == 1:
            return _not_in(operation.name, depends.index(True))
        return f"{operation.name} of operands that both depend on the arguments is not linear"
    for i, (is_dependent, answer) in enumerate(zip(depends, answers, strict=True)):
        if is_dependent and answer is None:
            return _not_in(operation.name, i)
    return None


def _not_in(name: str, index: int) -> str:
    return f"{name} is not linear in operand {index}, which depends on the arguments"
