"""The tracer: what a traced function computes with, and what it says when it is asked for a value it does not have.

Arithmetic, indexing and the rest of what arrays can do come from the method table (``methods.py``).
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    see,
)
from ..ir.avals import ShapedArray
from .provenance import depends_on_nothing, ended_text, function_text, origin_text
from .source import user_line, where_text

_IF_HELP = (
    "Python's if and while need one answer while the function is traced, before there are values. "
    "Use xlascope.lax.cond or while_loop, or xlascope.numpy.where element by element, or make the argument static "
    "(jit(f, static_argnums=...)). Under grad without jit it works as it stands."
)
_NUMBER_HELP = (
    "Keep it an array (x.astype(int) instead of int(x)), compute it outside the traced function, or make the argument "
    "static (jit(f, static_argnums=...))."
)
_INTEGER_HELP = (
    "Shapes, axes, range() and places in a list have to be known while the function is traced: make the argument "
    "static (jit(f, static_argnums=...)), take sizes from x.shape or x.size, loop with xlascope.lax.fori_loop, and "
    "index xlascope.numpy.asarray(list)[i]."
)
_KNOWN_HELP = (
    "Compute with Python's numbers or NumPy what is to be known while the function is traced (x.size + 1, x.shape[0], "
    "math.prod(x.shape)): functions of xlascope.numpy give traced values there, also for known numbers."
)
_BYTES_HELP = "Return the array, and take its bytes outside the traced function."
_PLACE_HELP = (
    "XLA decides how values lie over devices when the program is compiled: look at the results, or say it yourself "
    "(xlascope.lax.with_sharding_constraint)."
)
_ARRAY_HELP = (
    "Use xlascope.numpy in place of numpy for what depends on traced values; for a traced index i into a NumPy array a "
    "write xlascope.numpy.asarray(a)[i]."
)
#: Format codes of numbers; others are for text.
_NUMBER_FORMATS = "bcdeEfFgGnoxX%"
_TEXT_HELP = "To print it when the function runs use xlascope.debug.print('{x:.3f}', x=x)."


class Tracer:
    """Stands for an array while a function is traced. Subclasses say how; they have ``aval`` and ``_trace``."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = object.__hash__

    aval: ShapedArray
    _trace: Any

    def concrete(self) -> Any:
        """The array behind the tracer when its value is known, else None."""
        return None

    def inner(self) -> Any:
        """The value that the transformation was given and this one stands for; None for a variable of a program."""
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to those of other operands."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of an array without axes")
        return self.aval.shape[0]

    def __bool__(self) -> bool:
        return bool(self._value(TracerBoolConversionError, "the truth value of", _IF_HELP))

    def __int__(self) -> int:
        return int(self._value(ConcretizationTypeError, "the number in", _NUMBER_HELP))

    def __float__(self) -> NoReturn:
        self._refuse_constant("the number in", "float(x), math.sqrt(x)")

    def __complex__(self) -> NoReturn:
        self._refuse_constant("the number in", "complex(x)")

    def __index__(self) -> int:
        value = self.concrete()
        if value is None:
            fix = _KNOWN_HELP if depends_on_nothing(self) else _INTEGER_HELP
            raise TracerIntegerConversionError(_message("the integer in", self, fix))
        return int(value.__index__())

    def item(self, *args: Any) -> Any:
        """The element as a Python number; raises ConcretizationTypeError while it is not known."""
        return np.asarray(self._value(ConcretizationTypeError, "the number in", _NUMBER_HELP)).item(*args)

    def tolist(self) -> NoReturn:
        """Raise ConcretizationTypeError: lists of Python numbers would be constants."""
        self._refuse_constant("the numbers in", "x.tolist()")

    def tobytes(self, order: str = "C") -> bytes:
        """The elements as bytes; raises ConcretizationTypeError while they are not known."""
        return np.asarray(self._value(ConcretizationTypeError, "the bytes of", _BYTES_HELP)).tobytes(order)  # type: ignore[arg-type]

    def devices(self) -> Any:
        """The devices; raises ConcretizationTypeError while they are not known."""
        return self._value(ConcretizationTypeError, "the devices of", _PLACE_HELP).devices()

    def addressable_data(self, index: int) -> Any:
        """The part on a device; raises ConcretizationTypeError while it is not known."""
        return self._value(ConcretizationTypeError, "the parts of", _PLACE_HELP).addressable_data(index)

    @property
    def addressable_shards(self) -> Any:
        """The parts on devices; raises ConcretizationTypeError while they are not known."""
        return self._value(ConcretizationTypeError, "the parts of", _PLACE_HELP).addressable_shards

    @property
    def global_shards(self) -> Any:
        """The parts on all devices; raises ConcretizationTypeError while they are not known."""
        return self._value(ConcretizationTypeError, "the parts of", _PLACE_HELP).global_shards

    @property
    def is_fully_addressable(self) -> Any:
        """Whether all parts are in this process; raises ConcretizationTypeError while it is not known."""
        return self._value(ConcretizationTypeError, "the devices of", _PLACE_HELP).is_fully_addressable

    @property
    def is_fully_replicated(self) -> Any:
        """Whether each device has the whole; raises ConcretizationTypeError while it is not known."""
        return self._value(ConcretizationTypeError, "the devices of", _PLACE_HELP).is_fully_replicated

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        if not self._trace.alive:
            raise leaked_error(self)
        raise TracerArrayConversionError(_message("a NumPy array of", self, _ARRAY_HELP))

    def _value(self, error: type[Exception], what: str, fix: str) -> Any:
        value = self.concrete()
        if value is None:
            raise error(_message(what, self, fix))
        return value

    def _refuse_constant(self, what: str, calls: str) -> NoReturn:
        """Raise for what would make a constant of this value: its derivative would be lost, and nobody would know."""
        self._value(ConcretizationTypeError, what, _NUMBER_HELP)
        raise ConcretizationTypeError(
            f"{self!r}{where_text(user_line())} is differentiated, and a Python number ({calls}) would be a constant "
            f"without a derivative.{origin_text(self)}\nCompute with arrays (xlascope.numpy.sqrt(x) instead of "
            "math.sqrt(x)), or say that it is a constant: float(xlascope.lax.stop_gradient(x))."
        )

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError(
            "traced arrays cannot be changed in place: instead of x[index] = y write x = x.at[index].set(y)"
            f"{where_text(user_line())}{see('in-place-update')}"
        )

    def __delitem__(self, index: Any) -> NoReturn:
        raise TypeError(
            "traced arrays cannot be changed in place: instead of del x[index] write x = xlascope.numpy.delete(x, "
            f"index){where_text(user_line())}{see('in-place-update')}"
        )

    def block_until_ready(self) -> Tracer:
        """Nothing to wait for: the tracer itself."""
        return self

    def __copy__(self) -> Tracer:
        """The tracer itself: a value that cannot be changed is its own copy."""
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def __repr__(self) -> str:
        return f"Traced<{self.aval.str_short()}>"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        value = self.concrete()
        if value is None and spec[-1] in _NUMBER_FORMATS:
            raise ConcretizationTypeError(_message(f"the text of format {spec!r} for", self, _TEXT_HELP))
        return format(repr(self) if value is None else value, spec)


def _message(what: str, tracer: Tracer, fix: str) -> str:
    return (
        f"Abstract value passed where a concrete value is required: {what} {tracer!r} is not known while "
        f"{function_text(tracer)} is traced{where_text(user_line())}.{origin_text(tracer)}\n{fix}"
    )


def leaked_error(value: Any) -> UnexpectedTracerError:
    """The error for a tracer whose trace has ended, or does not reach the place where it is used."""
    kind, here = value.aval.str_short(), where_text(user_line())
    if getattr(value._trace, "alive", False):
        outside = UnexpectedTracerError(
            f"a traced value of type {kind} was used outside of the transformation (grad, jvp, vmap) that it belongs to"
            f"{here}. Rules (of custom_jvp, custom_vjp and the like) run outside of the "
            "transformation that applies them, so neither they nor functions passed to them may close over values that "
            "it traces. Make such a value an argument; closure_convert can do it."
        )
        outside.page = "closed-over-value"
        return outside
    return UnexpectedTracerError(
        f"a traced value of type {kind} was used{here} after the function it belongs to had been traced."
        f"{ended_text(value)} It was probably stored in a global, an attribute or a list by a function under jit, grad "
        "or vmap. Return the value from the function instead of storing it."
    )


def reaches(trace: Any, inner: Any) -> bool:
    """Whether values of ``trace`` may be used in ``inner``: whether it is that trace or one around it."""
    while inner is not None:
        if inner is trace:
            return True
        inner = inner.parent
    return False
