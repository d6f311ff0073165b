"""Provenance of traced values, as text for errors about tracers."""

from __future__ import annotations

import linecache
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType
from typing import Any, ClassVar

from ..ir.jaxpr import ClosedJaxpr, RawEquation, Var
from ..ir.user_frames import is_library, locate, user_line, where_text

_MAX_LISTED_ARGUMENTS = 3
#: The number of lines above a function that are read for its decorators.
_MAX_DECORATOR_LINES = 20


class TracedFunction:
    """Function that is being traced: its name, the variables of its arguments, and the user's names for them.

    ``names`` are the names, one for each variable, or a function that returns them.
    """

    __slots__ = ("invars", "name", "names")

    def __init__(self, name: str, invars: Sequence[Var], names: Sequence[str] | Callable[[], Sequence[str]]) -> None:
        self.name = name
        self.invars = invars
        self.names = names

    def argument_names(self) -> Sequence[str]:
        """Return the user's names for the arguments, in order; there may be fewer names than arguments."""
        return self.names() if callable(self.names) else self.names

    def positional_names(self) -> Sequence[str]:
        """Return the names of the positional parameters; () if they are not known."""
        arguments = getattr(self.names, "args", ())
        return arguments[0] if arguments else ()


class EndedTrace:
    """Summary of a trace that has ended: the name of its function, and a weak reference to its program."""

    __slots__ = ("name", "program")
    alive: ClassVar[bool] = False
    parent: ClassVar[None] = None

    def __init__(self, name: str, program: ClosedJaxpr | None) -> None:
        self.name = name
        self.program = None if program is None else weakref.ref(program)


def describe_origin(tracer: Any) -> str:
    """Return a sentence, with a leading space, on the arguments that a traced value depends on; "" if unknown."""
    variable = _innermost_variable(tracer)
    mapped = " It stands for every example of a vmap at once." if _is_mapped(tracer) else ""
    return mapped if variable is None else _origin_of(tracer, variable) + mapped


def _origin_of(tracer: Any, variable: Var) -> str:
    """Return a sentence, with a leading space, about the computation of a traced value; "" if nothing is known.

    ``variable`` is the variable of the jaxpr under the tracer.
    """
    trace = variable._trace
    traced: TracedFunction | None = getattr(trace, "traced", None)
    if traced is None:
        return ""
    eqn = _producing_equation(variable, trace.equations)
    if eqn is None:
        return _format_sentence("is", _argument_dependencies(variable, trace, traced), traced.name)
    computed = f"was computed by {eqn[0].name}{_format_recorded_location(eqn)}"
    if is_computed_from_constants(tracer):
        return f" It {computed} from known values alone."
    return _format_sentence(f"{computed} from", _argument_dependencies(variable, trace, traced), traced.name)


def dependence_text(tracer: Any) -> str:
    """Return how a traced value depends on the arguments, as a predicate: ``depends on the argument x``."""
    variable = _innermost_variable(tracer)
    traced: TracedFunction | None = getattr(getattr(variable, "_trace", None), "traced", None)
    names = [] if variable is None or traced is None else _argument_dependencies(variable, variable._trace, traced)
    if variable is None or traced is None or not names:
        return "differs from example to example of a vmap" if _is_mapped(tracer) else "is a traced value"
    verb = "is" if _producing_equation(variable, variable._trace.equations) is None else "depends on"
    return f"{verb} {_format_argument_list(names)}"


def is_mapped(tracer: Any) -> bool:
    """Return whether a traced value stands for the values of all examples of a ``vmap``."""
    return _is_mapped(tracer)


def static_advice(tracer: Any) -> str:
    """Return how to make static the one number that a value depends on: ``n static: jit(f, static_argnums=1)``.

    Returns "" if the value depends on several arguments, on an array, on a part of an argument, or if the
    argument does not belong to a jitted function.
    """
    variable = _innermost_variable(tracer)
    traced: TracedFunction | None = getattr(getattr(variable, "_trace", None), "traced", None)
    if variable is None or traced is None or _is_mapped(tracer):
        return ""
    dependencies = _backward_slice(variable, variable._trace.equations)
    pairs = [(n, v) for n, v in zip(traced.argument_names(), traced.invars, strict=False) if id(v) in dependencies]
    if len(pairs) != 1 or not pairs[0][0].isidentifier() or pairs[0][1].aval.shape:
        return ""
    name = pairs[0][0]
    positional = traced.positional_names()
    option = f"static_argnums={positional.index(name)}" if name in positional else f"static_argnames={name!r}"
    return describe_static_option(name, option, traced.name, _find_running_code(traced.name))


def describe_static_option(name: str, option: str, function: str, code: CodeType | None) -> str:
    """Return how to make an argument static: ``n static: jit(f, static_argnums=1)``.

    ``option`` is that of jit, ``function`` the function's name and ``code`` its code, if it is known: where it is
    written with ``@jit``, the text says what to write in place of this line.
    """
    decorator = "" if code is None else _jit_decorator(code)
    if not decorator:
        return f"{name} static: jit({function if function.isidentifier() else 'f'}, {option})"
    if "(" not in decorator:
        return f"{name} static: in place of {decorator} write @functools.partial({decorator[1:]}, {option})"
    keyword, _, value = option.partition("=")
    addition = f"{value} to {keyword}" if keyword in decorator else option
    return f"{name} static: add {addition} in the decorator of {function}"


_JIT_DECORATOR = re.compile(r"@\s*(?:[\w.]+\s*\(.*\b)?(?:[\w.]+\.)?jit\s*(?:[(),]|$)")


def _jit_decorator(code: CodeType) -> str:
    """Return the text of the decorator ``@jit`` of a function, such as ``@xs.jit``; "" if it has none."""
    for number in range(code.co_firstlineno, code.co_firstlineno + _MAX_DECORATOR_LINES):
        line = linecache.getline(code.co_filename, number).partition("#")[0].strip()
        if line.startswith(("def ", "async ")):
            break
        if _JIT_DECORATOR.match(line):
            return line
    return ""


def _find_running_code(name: str) -> CodeType | None:
    """Return the code of the innermost function of the user that is running and has that name."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == name and not is_library[frame.f_code.co_filename]:
            return frame.f_code
        frame = frame.f_back
    return None


def is_computed_from_constants(tracer: Any) -> bool:
    """Return whether a traced value was computed from constants alone, so that Python could have computed it."""
    variable = _innermost_variable(tracer)
    trace = getattr(variable, "_trace", None)
    traced: TracedFunction | None = getattr(trace, "traced", None)
    if variable is None or trace is None or traced is None:
        return False
    eqn = _producing_equation(variable, trace.equations)
    if eqn is None:
        return False
    return not _backward_slice(variable, trace.equations) & {id(v) for v in traced.invars}


def traced_function_name(tracer: Any) -> str:
    """Return the name of the function whose trace a traced value belongs to; "the function" if it is not known."""
    traced = getattr(getattr(_innermost_variable(tracer), "_trace", None), "traced", None)
    return (traced is not None and traced.name) or "the function"


def describe_ended_origin(value: Any) -> str:
    """Return a sentence, with a leading space, on the origin of a value whose trace has ended; "" if unknown."""
    trace = value._trace
    if not isinstance(trace, EndedTrace) or not trace.name:
        return ""
    program = trace.program() if trace.program is not None else None
    if program is None:
        return f" It belongs to {trace.name}."
    if value in program.jaxpr.invars:
        names = program.jaxpr.argument_names
        index = program.jaxpr.invars.index(value)
        return f" It is the argument {names[index]} of {trace.name}." if index < len(names) else ""
    eqn = _producing_equation(value, program.jaxpr.raw)
    if eqn is None:
        return f" It belongs to {trace.name}."
    return f" It was computed by {eqn[0].name}{where_text(locate(eqn[3], eqn[4]))} while {trace.name} was traced."


def _innermost_variable(tracer: Any) -> Any:
    """Return the jaxpr variable inside a tracer, or nested tracers, of transformations; None if there is none."""
    while tracer is not None and not isinstance(tracer, Var):
        tracer = tracer.inner() if hasattr(tracer, "inner") else None
    return tracer


def _is_mapped(tracer: Any) -> bool:
    while tracer is not None:
        if hasattr(tracer, "axis"):
            return True
        tracer = tracer.inner() if hasattr(tracer, "inner") else None
    return False


def _producing_equation(variable: Var, equations: Iterable[RawEquation]) -> RawEquation | None:
    """Return the equation that has ``variable`` among its results; None for an argument or a constant."""
    return next((raw for raw in equations if any(y is variable for y in raw[2])), None)


def _format_recorded_location(eqn: RawEquation) -> str:
    """Return where an equation was recorded, with a leading space; "" if the error names that line anyway."""
    location, user = locate(eqn[3], eqn[4]), user_line()
    if location is None or (user is not None and (location.file, location.line) == (user.file, user.line)):
        return ""
    return where_text(location)


def _argument_dependencies(variable: Var, trace: Any, traced: TracedFunction) -> list[str]:
    """Return the names of the arguments of ``traced`` that a variable of its ``trace`` depends on."""
    needed = _backward_slice(variable, trace.equations)
    names = traced.argument_names()
    return [name for name, v in zip(names, traced.invars, strict=False) if id(v) in needed]


def _backward_slice(variable: Var, equations: Sequence[RawEquation]) -> set[int]:
    """Return the ids of a variable and of all values that it depends on; ``equations`` are those of its program."""
    needed = {id(variable)}
    for _, inputs, outputs, *_ in reversed(equations):
        if any(id(y) in needed for y in outputs):
            needed.update(id(x) for x in inputs)
    return needed


def _format_sentence(computed: str, names: list[str], function: str) -> str:
    """Return the sentence that a value was computed from arguments of a function; "" without arguments."""
    if not names:
        return ""
    return f" It {computed} {_format_argument_list(names)} of {function or 'the function'}."


def _format_argument_list(names: Sequence[str]) -> str:
    """Return the names as text with ``the argument`` or ``the arguments`` in front."""
    listed = ", ".join(names[:_MAX_LISTED_ARGUMENTS]) + (", …" if len(names) > _MAX_LISTED_ARGUMENTS else "")
    return f"the argument{'s' if len(names) > 1 else ''} {listed}"
