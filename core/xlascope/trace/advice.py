"""Advice for errors where a traced value is used as a Python number, by the value and the user's line."""

from __future__ import annotations

import dis
import linecache
import re
import sys
from typing import Any

from .provenance import describe_origin, is_computed_from_constants, is_mapped, static_advice, traced_function_name
from .source import user_frame, user_line

_NUMPY_CALL = re.compile(r"(?:np|onp|numpy)\.([a-z_][\w.]*)\(")
_PYTHON_CALL = re.compile(r"(?:(math)\.(\w+)|(float|complex))\(")
_LIBRARY = __name__.partition(".")[0]
_SHAPES = "Shapes, axes, range() and places in a list have to be known while the function is traced"
_KNOWN_HELP = (
    "Compute with Python's numbers or NumPy what is to be known while the function is traced (x.size + 1, x.shape[0], "
    "math.prod(x.shape)): functions of xlascope.numpy give traced values there, also for known numbers."
)
_INDEX_HELP = "Make an array of the list: xlascope.numpy.asarray(list)[i]."


def _vmap_advice(quantity: str) -> str:
    """Return advice to share the argument that a quantity depends on among all examples of a vmap."""
    return f"Under vmap {quantity} has to be the same for all examples: in_axes=None for its argument makes it so."


def truth_advice(tracer: Any) -> str:
    """Return advice, as text, for a traced value that was used as a condition of ``if`` or ``while``."""
    if is_mapped(tracer):
        return (
            "Under vmap one `if` would have to go both ways at once. Choose values with xlascope.numpy.where(condition,"
            " a, b); for a loop that stops early use xlascope.lax.while_loop."
        )
    static = static_advice(tracer) or "the argument static (jit(f, static_argnums=...))"
    return (
        "Python's if and while need one answer while the function is traced, before there are values. Use "
        "xlascope.lax.cond or while_loop, or xlascope.numpy.where element by element, or make "
        f"{static}. Under grad without jit it works as it stands."
    )


def number_advice(tracer: Any) -> str:
    """Return advice, as text, for a traced value that was converted to a Python number."""
    keep = "Keep it an array (x.astype(int) instead of int(x))"
    if is_mapped(tracer):
        return f"{keep}. {_vmap_advice('a Python number')}"
    static = static_advice(tracer) or "the argument static (jit(f, static_argnums=...))"
    return f"{keep}, compute it outside the traced function, or make {static}."


def integer_advice(tracer: Any) -> str:
    """Return advice, as text, for a traced value that was used as an index, a size or an axis."""
    if is_computed_from_constants(tracer):
        return _KNOWN_HELP
    if is_at_index():
        return _INDEX_HELP
    loop_advice = (
        "loop with xlascope.lax.fori_loop(0, n, body, x)" if user_expression_text().startswith("range(") else ""
    )
    if is_mapped(tracer):
        return _vmap_advice("a size, an axis or the length of a range()")
    static = static_advice(tracer)
    if static:
        return f"Make {static}." + (f" Or {loop_advice}." if loop_advice else "")
    return (
        f"{_SHAPES}: make the argument static (jit(f, static_argnums=...)), take sizes from x.shape or x.size, loop "
        "with xlascope.lax.fori_loop, and index xlascope.numpy.asarray(list)[i]."
    )


def constant_advice() -> str:
    """Return advice, as text, for a differentiated value that was converted to a Python number."""
    text, constant = user_expression_text(), "float(xlascope.lax.stop_gradient(x))"
    match = _PYTHON_CALL.match(text)
    if match is None:
        return (
            f"Compute with arrays (xlascope.numpy.sqrt(x) instead of math.sqrt(x)). To make it a constant: {constant}."
        )
    if not match[1]:
        return f"Leave {match[3]}() away: arrays can be computed with. To make it a constant: {constant}."
    return f"Use xlascope.numpy.{match[2]} instead of math.{match[2]}. To make it a constant: {constant}."


def numpy_message(tracer: Any, is_known: bool) -> tuple[str, str]:
    """Return the problem and the fix, both as text, for a traced value that was given to NumPy.

    ``is_known`` says that its value is known and only its derivative would be lost.
    """
    match = _NUMPY_CALL.match(user_expression_text())
    function = f"numpy.{match[1]}" if match else "a NumPy function"
    module = sys.modules.get(f"{_LIBRARY}.numpy")
    has_counterpart = match is not None and (module is None or hasattr(module, match[1].partition(".")[0]))
    fix = f"Use xlascope.numpy.{match[1]}." if match and has_counterpart else "Use xlascope.numpy in place of numpy."
    if is_at_index():
        function, fix = "a NumPy array's index", "For a NumPy array a write xlascope.numpy.asarray(a)[i]."
    if is_known:
        problem = (
            f"{function} was given a value that is being differentiated ({tracer!r}): NumPy would make a constant of "
            "it, without a derivative."
        )
    elif is_mapped(tracer):
        problem = f"{function} was given {tracer!r}: NumPy needs one array.{describe_origin(tracer)}"
    else:
        problem = (
            f"{function} was given {tracer!r} while {traced_function_name(tracer)} is traced: a NumPy function "
            "needs values, "
            f"and a traced array has none yet.{describe_origin(tracer)}"
        )
    return problem[0].upper() + problem[1:] if problem.startswith("a ") else problem, fix


def is_at_index() -> bool:
    """Return whether the user's program is at an index in brackets, such as ``names[i]``, right now."""
    code, lasti = user_frame(2)
    if code is None:
        return False
    # Of a specialized instruction it may be the offset of an inline cache, behind the instruction's own.
    begun = [step for step in dis.get_instructions(code) if step.offset <= lasti]
    return bool(begun) and (begun[-1].opname == "BINARY_SUBSCR" or begun[-1].argrepr == "[]")


def user_expression_text() -> str:
    """Return the source text of the expression that the user's program is evaluating; "" if it is not known.

    Of an expression on several lines it is the first line.
    """
    location = user_line()
    if location is None:
        return ""
    line = linecache.getline(location.file, location.line)
    encoded = line.encode()  # columns count bytes
    end = location.end_column if location.end_line == location.line else len(encoded)
    return encoded[location.column : end].decode(errors="replace")
