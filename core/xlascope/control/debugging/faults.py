"""The origin of a NaN or an infinity: the check that ``debug_nans`` and ``debug_infs`` do of a call's results.

The results of a compiled call show that there is one. Its origin is found by running the program again, one
operation at a time, and walking back from the result through operands that also have one, to the first
operation without one among its operands. Programs that this operation runs (a jitted function, the steps of a
loop) are searched likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import is_differentiable
from ...errors import see
from ...ir.jaxpr import Jaxpr, Literal, RawEquation
from ...ir.user_frames import locate
from ...runtime import boot
from ...settings import debug_infs, debug_key_reuse, debug_nans
from ...trace.bind import bind
from ...trace.source import user_frame, where_text
from ...trace.state import STATE
from ...trace.values import aval_of
from ..programs.call import bind_call
from .program_runs import iterate_runs

ValueTest = Callable[[Any], bool]
_MAX_OPERANDS_SHOWN = 4


class InvalidValueOrigin(NamedTuple):
    """Origin of an invalid value: an equation with its operands and results, or else the description of an input.

    Either ``equation`` is the first operation with an invalid result and valid operands, or it is None and
    ``argument`` describes the program's input that is invalid already (``its argument x``).
    """

    equation: RawEquation | None
    operands: Sequence[Any]
    results: Sequence[Any]
    #: The names of the enclosing programs, outermost first.
    inside: tuple[str, ...]
    argument: str = ""


def check_results(jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise FloatingPointError if a result has a NaN or an infinity and ``debug_nans`` or ``debug_infs`` is set.

    ``results`` are what the compiled program returned for ``consts`` and ``operands``. The message names the
    operation that produced the invalid value, which is found by running the program again, one operation at a time.
    """
    for kind, is_enabled, test in (("nan", boot.debug_nans.value, _has_nan), ("inf", boot.debug_infs.value, _has_inf)):
        if not is_enabled or not any(test(y) for y in results):
            continue
        origin = STATE.origin
        call_frame = user_frame() if origin is None or origin.code is None else (origin.code, origin.lasti)
        with eager_without_checks():
            value_origin = _find_origin(jaxpr, consts, operands, test, (jaxpr.name,))
        raise FloatingPointError(_message(kind, value_origin, call_frame, jaxpr) + see("nan-found"))


def _has_nan(x: Any) -> bool:
    return _is_inexact(x) and bool(np.isnan(np.asarray(x)).any())


def _has_inf(x: Any) -> bool:
    return _is_inexact(x) and bool(np.isinf(np.asarray(x)).any())


def _is_inexact(x: Any) -> bool:
    return is_differentiable(aval_of(x).dtype)


@contextmanager
def eager_without_checks() -> Iterator[None]:
    """Run the operations of a ``with`` block eagerly, whatever is being traced, and without checks of their results."""
    trace, origin, in_trace = STATE.trace, STATE.origin, boot.in_trace.swap_local(False)
    try:
        STATE.trace = STATE.origin = None
        with debug_nans(False), debug_infs(False), debug_key_reuse(False):
            yield
    finally:
        STATE.trace, STATE.origin = trace, origin
        boot.in_trace.set_local(in_trace)


def _find_origin(
    jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], test: ValueTest, inside: tuple[str, ...]
) -> InvalidValueOrigin | None:
    """Return the first equation with an invalid result and no invalid operand.

    ``test`` says whether a value is invalid, ``inside`` are the names of the enclosing programs. The search walks
    back from an invalid result of the program. Returns None if no result is invalid when the operations run one by
    one.
    """
    values = {id(v): x for v, x in zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *operands), strict=True)}
    producers: dict[int, RawEquation] = {}
    for equation in jaxpr.raw:
        operation, inputs, outputs, *_ = equation
        results = bind(operation, *(_value(x, values) for x in inputs))
        for variable, result in zip(outputs, results, strict=True):
            values[id(variable)] = result
            producers[id(variable)] = equation
    variable_at = next((x for x in jaxpr.outvars if test(_value(x, values))), None)
    while variable_at is not None:
        producer = producers.get(id(variable_at))
        if producer is None:
            return InvalidValueOrigin(None, (), (), inside, _describe_input(jaxpr, variable_at))
        invalid_input = next((x for x in producer[1] if x.__class__ is not Literal and test(values[id(x)])), None)
        if invalid_input is None:
            return _find_within_equation(producer, values, test, inside)
        variable_at = invalid_input
    return None


def _value(x: Any, values: dict[int, Any]) -> Any:
    """Return the concrete value of a literal or variable; ``values`` has those of variables by their id."""
    return x.val if x.__class__ is Literal else values[id(x)]


def _describe_input(jaxpr: Jaxpr, variable: Any) -> str:
    """Return a description of an input of a program, such as ``its argument x``.

    ``variable`` is one of the program's constants or operands, or a literal that it returns.
    """
    if variable.__class__ is Literal:
        return "a number that it returns"
    if variable in jaxpr.constvars:
        return "an array that it closes over"
    index = jaxpr.invars.index(variable)
    names = jaxpr.argument_names
    return f"its argument {names[index]}" if index < len(names) and names[index] else f"its operand {index}"


def _find_within_equation(
    equation: RawEquation, values: dict[int, Any], test: ValueTest, inside: tuple[str, ...]
) -> InvalidValueOrigin:
    """Return the origin within the programs that an equation runs, or the equation itself.

    ``values`` has the concrete value of each variable by its id, ``test`` says whether a value is invalid, ``inside``
    are the names of the enclosing programs.
    """
    operation, inputs, outputs, *_ = equation
    operands = [_value(x, values) for x in inputs]
    steps = iterate_runs(operation, operands)
    step = next(steps, None)
    while step is not None:
        results = bind_call(step.program, step.operands)
        if any(test(y) for y in results):
            path = (*inside, step.label)
            inner = _find_origin(step.program.jaxpr, step.program.consts, step.operands, test, path)
            if inner is not None and inner.equation is not None:
                return inner
            break
        try:
            step = steps.send(results)
        except StopIteration:
            break
    return InvalidValueOrigin(equation, operands, [values[id(y)] for y in outputs], inside)


# Messages ------------------------------------------------------------------------------------------------------------


def _message(kind: str, fault: InvalidValueOrigin | None, call_frame: tuple[Any, int], jaxpr: Jaxpr) -> str:
    """Return the error message for an invalid value.

    ``kind`` is ``nan`` or ``inf``, ``call_frame`` the code object and instruction of the user's call. Without
    ``fault`` it says that the operations give no invalid value when they run one by one.
    """
    site = where_text(locate(*call_frame))
    if fault is None:
        return (
            f"invalid value ({kind}) encountered in the results of {jaxpr.name}{site}. Its operations give none when "
            "they run one by one: the compiler has rearranged them."
        )
    if fault.equation is None:
        return (
            f"invalid value ({kind}) encountered in {jaxpr.name}{site}: it came in with {fault.argument}, no "
            "operation made it"
        )
    operation, _, _, code, lasti, origin = fault.equation
    location = locate(code, lasti) if code is not None else locate(*call_frame)
    role = f" in the {origin.role} pass" if origin is not None and origin.role in ("backward", "tangent") else ""
    enclosing = [
        name
        for name, inner in zip(fault.inside, (*fault.inside[1:], operation.name), strict=True)
        if name and name != inner and not inner.endswith(f"of {name}")  # an operation that ran on its own
    ]
    enclosing_text = f" It is an operation of {', '.join(reversed(enclosing))}." if enclosing else ""
    return (
        f"invalid value ({kind}) encountered in {operation.name}{where_text(location)}{role}.{enclosing_text} "
        f"{_values_text(fault, kind)}"
    )


def _values_text(fault: InvalidValueOrigin, kind: str) -> str:
    """Return how many elements of the result are invalid, and descriptions of the operands, as text.

    ``kind`` says which elements are meant: ``"nan"`` or ``"inf"``. The first result of ``fault`` that has any is
    described.
    """
    operands = ", ".join(_value_text(x) for x in fault.operands[:_MAX_OPERANDS_SHOWN])
    more = ", …" if len(fault.operands) > _MAX_OPERANDS_SHOWN else ""
    test = np.isnan if kind == "nan" else np.isinf
    bad = next(np.asarray(y) for y in fault.results if _is_inexact(y) and test(np.asarray(y)).any())
    result_text = (
        f"Of the {bad.size} elements of its result {int(test(bad).sum())} are" if bad.ndim else "Its result is"
    )
    listed = "; its operand is" if len(fault.operands) == 1 else "; its operands are"
    return f"{result_text} {kind}{listed} {operands}{more}." if operands else f"{result_text} {kind}."


def _value_text(x: Any) -> str:
    """Return the value of a scalar, or the type and range of an array."""
    value, aval = np.asarray(x), aval_of(x)
    if value.ndim == 0:
        return str(value)
    if value.size == 0 or aval.dtype.kind in "cO" or not (is_differentiable(aval.dtype) or aval.dtype.kind in "iu"):
        return aval.str_short()
    return f"{aval.str_short()} between {value.min()} and {value.max()}"
