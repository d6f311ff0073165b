"""What to do where a traced value was asked for a number: advice that fits the value and the user's line."""

from __future__ import annotations

import dis
import linecache
import re
import sys
from typing import Any

from .provenance import depends_on_nothing, function_text, is_mapped, origin_text, static_advice
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


def _where_mapped(what: str) -> str:
    return f"Under vmap {what} has to be the same for all examples: in_axes=None for its argument makes it so."


def truth_advice(tracer: Any) -> str:
    """Return what to do about a condition whose truth value is not known."""
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
    """Return what to do where a Python number was asked for."""
    keep = "Keep it an array (x.astype(int) instead of int(x))"
    if is_mapped(tracer):
        return f"{keep}. {_where_mapped('a Python number')}"
    static = static_advice(tracer) or "the argument static (jit(f, static_argnums=...))"
    return f"{keep}, compute it outside the traced function, or make {static}."


def integer_advice(tracer: Any) -> str:
    """Return what to do where an index, a size or an axis was asked for."""
    if depends_on_nothing(tracer):
        return _KNOWN_HELP
    if is_index():
        return _INDEX_HELP
    loop = "loop with xlascope.lax.fori_loop(0, n, body, x)" if user_text().startswith("range(") else ""
    if is_mapped(tracer):
        return _where_mapped("a size, an axis or the length of a range()")
    static = static_advice(tracer)
    if static:
        return f"Make {static}." + (f" Or {loop}." if loop else "")
    return (
        f"{_SHAPES}: make the argument static (jit(f, static_argnums=...)), take sizes from x.shape or x.size, loop "
        "with xlascope.lax.fori_loop, and index xlascope.numpy.asarray(list)[i]."
    )


def constant_advice() -> str:
    """Return what to do where a differentiated value was to become a Python number."""
    text, constant = user_text(), "float(xlascope.lax.stop_gradient(x))"
    called = _PYTHON_CALL.match(text)
    if called is None:
        return (
            f"Compute with arrays (xlascope.numpy.sqrt(x) instead of math.sqrt(x)). To make it a constant: {constant}."
        )
    if not called[1]:
        return f"Leave {called[3]}() away: arrays can be computed with. To make it a constant: {constant}."
    return f"Use xlascope.numpy.{called[2]} instead of math.{called[2]}. To make it a constant: {constant}."


def numpy_message(tracer: Any, is_known: bool) -> tuple[str, str]:
    """Return what was wrong where NumPy was given a traced value, and what to do."""
    named = _NUMPY_CALL.match(user_text())
    function = f"numpy.{named[1]}" if named else "a NumPy function"
    module = sys.modules.get(f"{_LIBRARY}.numpy")
    ours = named is not None and (module is None or hasattr(module, named[1].partition(".")[0]))
    fix = f"Use xlascope.numpy.{named[1]}." if named and ours else "Use xlascope.numpy in place of numpy."
    if is_index():
        function, fix = "a NumPy array's index", "For a NumPy array a write xlascope.numpy.asarray(a)[i]."
    if is_known:
        what = (
            f"{function} was given a value that is being differentiated ({tracer!r}): NumPy would make a constant of "
            "it, without a derivative."
        )
    elif is_mapped(tracer):
        what = f"{function} was given {tracer!r}: NumPy needs one array.{origin_text(tracer)}"
    else:
        what = (
            f"{function} was given {tracer!r} while {function_text(tracer)} is traced: a NumPy function needs values, "
            f"and a traced array has none yet.{origin_text(tracer)}"
        )
    return what[0].upper() + what[1:] if what.startswith("a ") else what, fix


def is_index() -> bool:
    """Return whether the user's line is at an index in brackets, such as ``names[i]``."""
    code, lasti = user_frame(2)
    if code is None:
        return False
    found = next((step for step in dis.get_instructions(code) if step.offset == lasti), None)
    return found is not None and (found.opname == "BINARY_SUBSCR" or found.argrepr == "[]")


def user_text() -> str:
    """Return the text of the expression that the user's program is at, of its first line; or nothing."""
    place = user_line()
    if place is None:
        return ""
    line = linecache.getline(place.file, place.line)
    encoded = line.encode()  # columns count bytes
    end = place.end_column if place.end_line == place.line else len(encoded)
    return encoded[place.column : end].decode(errors="replace")
