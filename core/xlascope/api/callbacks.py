"""Calls of Python functions while a program runs: pure_callback, io_callback, debug.callback, debug.print."""

from __future__ import annotations

import functools
import logging
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..dtypes import to_canonical_dtype
from ..ir.avals import ShapedArray, make_aval
from ..key_types import is_key
from ..operations.callbacks import VMAP_METHODS, DebugCallback, HostFunction, IOCallback, PureCallback
from ..operations.random_keys import random_unwrap
from ..runtime.debug_output import is_output_discarded
from ..trace.bind import bind
from ..trace.source import user_line, where_text
from ..trace.values import aval_of, invalid_operand_error
from ..xla.arrays.transfers import put_on_device

_log = logging.getLogger("xlascope.debug")


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function without side effects while the program runs, and return its results.

    ``result_shape_dtypes`` is a tree like the result with a ``ShapeDtypeStruct`` (or an array) for each array.
    The function gets NumPy arrays. It may be called several times, or not at all if its results are unused.
    ``vmap_method`` defines the behavior under vmap: one call per example (``sequential``), or a single call with
    a leading axis on the results and the arguments, where arguments that all examples share are broadcast
    (``broadcast_all``), get an axis of size 1 (``expand_dims``) or are unchanged (``legacy_vectorized``).
    ``sharding`` is accepted for compatibility with JAX. Raises TypeError for results of other types, ValueError
    under differentiation.

    >>> import numpy as np
    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> f = xs.jit(lambda x: 2 * xs.pure_callback(np.sort, x, x))
    >>> print(f(jnp.array([3.0, 1.0, 2.0])))
    [2. 4. 6.]
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"pure_callback takes vmap_method as one of {', '.join(map(repr, VMAP_METHODS))} or None, got "
            f"{vmap_method!r}{where_text(user_line())}"
        )
    function, operands = _host_function("pure_callback", callback, result_shape_dtypes, args, kwargs)
    return function.out_structure.unflatten(bind(PureCallback(function, vmap_method), *operands))


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function that reads or writes something while the program runs, and return its results.

    It is called once each time the program reaches it, even if its results are unused; calls that are ``ordered``
    happen in the order of the program. ``result_shape_dtypes`` is a tree like the result with a
    ``ShapeDtypeStruct`` for each array, None for a function that returns nothing. The function gets NumPy arrays.
    ``sharding`` is accepted for compatibility with JAX. Raises TypeError for results of other types, ValueError
    under differentiation, and under vmap if ordered.

    >>> import xlascope as xs
    >>> from xlascope.experimental import io_callback
    >>> seen = []
    >>> @xs.jit
    ... def f(x):
    ...     io_callback(seen.append, None, x, ordered=True)
    ...     io_callback(seen.append, None, x + 1, ordered=True)
    ...     return x
    >>> f(3), seen
    (Array(3, dtype=int32, weak_type=True), [array(3, dtype=int32), array(4, dtype=int32)])
    """
    function, operands = _host_function("io_callback", callback, result_shape_dtypes, args, kwargs)
    return function.out_structure.unflatten(bind(IOCallback(function, bool(ordered)), *operands))


def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with the values of the arguments while the program runs; its result is ignored.

    It is meant for inspecting values: transformations preserve it. Under vmap it is called for each example,
    under grad with the values of the forward pass. Arguments that are not arrays are passed on unchanged. Calls
    that are ``ordered`` happen in the order of the program. ``partitioned`` is accepted for compatibility with
    JAX. Without a function it returns a decorator.

    >>> import xlascope as xs
    >>> seen = []
    >>> print(xs.grad(lambda x: (xs.debug.callback(seen.append, x), x * x)[1])(3.0), seen)
    6.0 [array(3., dtype=float32)]
    """
    if callback is None:
        return lambda function: functools.partial(debug_callback, function, ordered=ordered)
    _require_callable("debug.callback", callback)
    _bind_debug("debug.callback", callback, args, kwargs, ordered)
    return None


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print the values of the arguments while the program runs; ``fmt`` is a format string for ``str.format``.

    See :func:`debug_callback` for transformations and for ``ordered``. Unless ``skip_format_check``, raises
    IndexError, KeyError or ValueError if the format and the arguments do not fit, TypeError if the format is not
    a string.

    >>> import xlascope as xs
    >>> f = xs.jit(lambda x: xs.debug.print("x = {x:.2f}", x=x))
    >>> f(2.0)
    x = 2.00
    """
    if fmt is None:
        return lambda text: functools.partial(debug_print, text, ordered=ordered, skip_format_check=skip_format_check)
    _bind_text("debug.print", print, fmt, args, kwargs, ordered, skip_format_check)
    return None


def debug_log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Log the values of the arguments while the program runs: the logger ``xlascope.debug`` gets the text, as INFO.

    It takes the arguments of :func:`debug_print`, and raises the same errors.

    >>> import logging, sys, xlascope as xs
    >>> logger, handler = logging.getLogger("xlascope.debug"), logging.StreamHandler(sys.stdout)
    >>> logger.setLevel("INFO")
    >>> logger.addHandler(handler)
    >>> xs.jit(lambda x: xs.debug.log("x = {x:.2f}", x=x))(2.0)
    x = 2.00
    >>> logger.removeHandler(handler)
    """
    if fmt is None:
        return lambda text: functools.partial(debug_log, text, ordered=ordered, skip_format_check=skip_format_check)
    _bind_text("debug.log", _log.info, fmt, args, kwargs, ordered, skip_format_check)
    return None


def _bind_text(
    caller: str, write: Callable[[str], Any], fmt: Any, args: Any, kwargs: Any, ordered: bool, skip_format_check: bool
) -> None:
    """Let the program give the formatted values to ``write``; ``caller`` is the public function's name, for errors."""
    if not isinstance(fmt, str):
        raise TypeError(f"{caller} takes a format string first, got {type(fmt).__name__}{where_text(user_line())}")
    fields = [field for _, field, _, _ in string.Formatter().parse(fmt) if field is not None]
    if not skip_format_check:
        _check_format(caller, fmt, args, kwargs)
    printer = _DebugPrinter(write, fmt if args or kwargs or fields else None, fmt)
    _bind_debug(caller, printer, args, kwargs, ordered)


def effects_barrier() -> None:
    """Wait until all callbacks of the programs that this thread has called are done.

    It returns at once: a call of a program that calls Python returns only when its callbacks are done.
    """


class _DebugPrinter:
    """Function that gives arrays as text to ``write``, with NumPy's print options at the time of tracing.

    ``fmt`` is a format string, or None to write ``text`` as it is.
    """

    def __init__(self, write: Callable[[str], Any], fmt: str | None, text: str) -> None:
        self.write = write
        self.fmt = fmt
        self.text = text
        self.options = np.get_printoptions()
        self.__name__ = "print"

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        text = self.text
        if self.fmt is not None:
            args, kwargs = tree.map(_to_array, (args, kwargs))
            with np.printoptions(**self.options):
                text = self.fmt.format(*args, **kwargs)
        if not is_output_discarded():
            self.write(text)


def _to_array(x: Any) -> Any:
    return put_on_device(x, aval_of(x)) if isinstance(x, (np.ndarray, np.generic)) else x


def _host_function(
    caller: str, callback: Any, result_shape_dtypes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[HostFunction, list[Any]]:
    """Return the callback as a ``HostFunction``, which programs call, and its operands, the leaves of the arguments.

    ``caller`` is the public function's name, for errors; ``result_shape_dtypes`` is a tree of the results'
    types.
    """
    _require_callable(caller, callback)
    operands, structure = tree.flatten((args, kwargs))
    for i, x in enumerate(operands):
        _require_array(caller, i, x)
    operands = [_key_to_words(x) for x in operands]
    results, out = tree.flatten(result_shape_dtypes)
    avals = [_result_type(caller, x) for x in results]
    return HostFunction(caller, callback, structure, {}, avals, out, user_line()), operands


def _key_to_words(x: Any) -> Any:
    """Return typed keys as their words, since NumPy has no such dtype; anything else is returned unchanged."""
    return random_unwrap(x) if is_key(aval_of(x).dtype) else x


def _require_callable(caller: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"{caller} takes a function first, got {callback!r}{where_text(user_line())}")


def _require_array(caller: str, position: int, x: Any) -> None:
    try:
        aval_of(x)
    except TypeError:
        raise invalid_operand_error(x, f"an argument of {caller} (number {position})") from None


def _result_type(caller: str, x: Any) -> ShapedArray:
    """Return the abstract value for a leaf of ``result_shape_dtypes``.

    Raises TypeError for an object without shape and dtype, ValueError for a dtype that needs ``enable_x64``.
    ``caller`` is the public function's name.
    """
    try:
        shape, dtype = tuple(x.shape), np.dtype(x.dtype)
    except (AttributeError, TypeError):
        raise TypeError(
            f"{caller} takes result_shape_dtypes as a tree of ShapeDtypeStruct(shape, dtype), got "
            f"{x!r}{where_text(user_line())}"
        ) from None
    if to_canonical_dtype(dtype) != dtype:
        raise ValueError(
            f"{caller}: result_shape_dtypes cannot specify 64-bit types ({dtype.name}) while 64-bit types are disabled"
            f"{where_text(user_line())}. Set enable_x64, or say {to_canonical_dtype(dtype).name}"
        )
    return make_aval(shape, dtype)


def _bind_debug(
    caller: str, callback: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], ordered: bool
) -> None:
    leaves, structure = tree.flatten((args, kwargs))
    static = {i: x for i, x in enumerate(leaves) if not _is_array(x)}
    operands = [_key_to_words(x) for i, x in enumerate(leaves) if i not in static]
    function = HostFunction(caller, callback, structure, static, (), None, user_line())
    bind(DebugCallback(function, bool(ordered)), *operands)


def _is_array(x: Any) -> bool:
    try:
        aval_of(x)
    except TypeError:
        return False
    return True


def _check_format(caller: str, fmt: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise an error unless each field of a format has an argument, and each argument a field."""
    used: set[int | str] = set()
    _collect_fields(fmt, used)
    unused = [str(i) for i in range(len(args)) if i not in used] + [name for name in kwargs if name not in used]
    missing = [x for x in used if (x >= len(args) if isinstance(x, int) else x not in kwargs)]
    if not unused and not missing:
        return
    line, fix = where_text(user_line()), _WITHOUT_F if "Traced<" in fmt else _FIELDS
    for field in missing:
        if isinstance(field, int):
            raise IndexError(
                f"{caller}{line}: {fmt!r} has no argument for its field {field}, it got {len(args)}. {fix}"
            )
        raise KeyError(f"{caller}{line}: {fmt!r} has no argument for its field {field!r}. {fix}")
    raise ValueError(f"{caller}{line}: unused arguments {', '.join(unused)}; {fmt!r} has no field for them. {fix}")


_FIELDS = "Each argument has its field, as in debug.print('x = {x}', x=x) or debug.print('x = {}', x)."
_WITHOUT_F = (
    "An f-string is filled in while the function is traced, before there are values: leave out the f before the "
    "quotes, debug.print('x = {x}', x=x)."
)


def _collect_fields(fmt: str, used: set[int | str], count: int = 0) -> int:
    """Add the arguments that a format uses, also in nested specs, to ``used``; return the number of unnamed fields.

    Unnamed fields are numbered from ``count`` on, which is included in the result.
    """
    for _, field, spec, _ in string.Formatter().parse(fmt):
        if field is None:
            continue
        name = re.split(r"[.\[]", field, maxsplit=1)[0]
        if not name:
            name, count = str(count), count + 1
        used.add(int(name) if name.isdigit() else name)
        count = _collect_fields(spec or "", used, count)
    return count
