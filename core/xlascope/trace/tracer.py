"""Base class of tracers, and the errors for uses that need a concrete value.

Arithmetic, indexing and other array methods come from the method table (``methods.py``).
"""

from __future__ import annotations

from collections.abc import Callable
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
from .advice import constant_advice, integer_advice, number_advice, numpy_message, truth_advice
from .provenance import describe_ended_origin, describe_origin, traced_function_name
from .source import compose_message

#: What to do, or what says it of a tracer.
Fix = str | Callable[[Any], str]


_BYTES_HELP = "Return the array, and take its bytes outside the traced function."
_DEVICES_HELP = (
    "XLA decides how values lie over devices when the program is compiled: look at the results, or say it yourself "
    "(xlascope.lax.with_sharding_constraint)."
)
#: Format codes of numbers; others are for text.
_NUMBER_FORMATS = "bcdeEfFgGnoxX%"
_TEXT_HELP = "To print it when the function runs use xlascope.debug.print('{x:.3f}', x=x)."


class TracerBase:
    """Base class of tracers, the values that stand for arrays while a function is traced.

    Subclasses define ``aval``, the type, and ``_trace``, the trace that a tracer belongs to.
    """

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = object.__hash__

    aval: ShapedArray
    _trace: Any

    def concrete(self) -> Any:
        """Return the array behind the tracer if its value is known, else None."""
        return None

    def inner(self) -> Any:
        """Return the value that this tracer of a transformation wraps; None for a variable of a program."""
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the dtype of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """Return whether the dtype yields to those of other operands."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of an array without axes")
        return self.aval.shape[0]

    def __bool__(self) -> bool:
        return bool(self._require_concrete(TracerBoolConversionError, "the truth value of", truth_advice))

    def __int__(self) -> int:
        return int(self._require_concrete(ConcretizationTypeError, "the number in", number_advice))

    def __float__(self) -> NoReturn:
        self._refuse_constant("the number in", "float(x), math.sqrt(x)")

    def __complex__(self) -> NoReturn:
        self._refuse_constant("the number in", "complex(x)")

    def __index__(self) -> int:
        value = self.concrete()
        if value is None:
            raise TracerIntegerConversionError(_concretization_message("the integer in", self, integer_advice))
        return int(value.__index__())

    def item(self, *args: Any) -> Any:
        """Return the element as a Python number; raise ConcretizationTypeError while it is not known."""
        return np.asarray(self._require_concrete(ConcretizationTypeError, "the number in", number_advice)).item(*args)

    def tolist(self) -> NoReturn:
        """Raise ConcretizationTypeError: lists of Python numbers would be constants."""
        self._refuse_constant("the numbers in", "x.tolist()")

    def tobytes(self, order: str = "C") -> bytes:
        """Return the elements as bytes; raise ConcretizationTypeError while they are not known."""
        return np.asarray(self._require_concrete(ConcretizationTypeError, "the bytes of", _BYTES_HELP)).tobytes(order)  # type: ignore[arg-type]

    def devices(self) -> Any:
        """Return the devices; raise ConcretizationTypeError while they are not known."""
        return self._require_concrete(ConcretizationTypeError, "the devices of", _DEVICES_HELP).devices()

    def addressable_data(self, index: int) -> Any:
        """Return the shard with that index in this process; raise ConcretizationTypeError while it is not known."""
        return self._require_concrete(ConcretizationTypeError, "the parts of", _DEVICES_HELP).addressable_data(index)

    @property
    def addressable_shards(self) -> Any:
        """Return the shards of this process; raise ConcretizationTypeError while they are not known."""
        return self._require_concrete(ConcretizationTypeError, "the parts of", _DEVICES_HELP).addressable_shards

    @property
    def global_shards(self) -> Any:
        """Return the shards on all devices; raise ConcretizationTypeError while they are not known."""
        return self._require_concrete(ConcretizationTypeError, "the parts of", _DEVICES_HELP).global_shards

    @property
    def is_fully_addressable(self) -> Any:
        """Return whether all shards are in this process; raise ConcretizationTypeError while it is not known."""
        return self._require_concrete(ConcretizationTypeError, "the devices of", _DEVICES_HELP).is_fully_addressable

    @property
    def is_fully_replicated(self) -> Any:
        """Return whether each device has all values; raise ConcretizationTypeError while it is not known."""
        return self._require_concrete(ConcretizationTypeError, "the devices of", _DEVICES_HELP).is_fully_replicated

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        if not self._trace.alive:
            raise leaked_error(self)
        raise TracerArrayConversionError(compose_message(*numpy_message(self, self.concrete() is not None)))

    def _require_concrete(self, error: type[Exception], description: str, fix: Fix) -> Any:
        value = self.concrete()
        if value is None:
            raise error(_concretization_message(description, self, fix))
        return value

    def _refuse_constant(self, description: str, calls: str) -> NoReturn:
        """Raise ConcretizationTypeError: a conversion to a Python number would lose the derivative of this value.

        ``description`` says which value is needed ("the number in"), ``calls`` which functions convert; both
        are for messages.
        """
        self._require_concrete(ConcretizationTypeError, description, number_advice)
        description = (
            f"{self!r} is differentiated, and a Python number ({calls}) would be a constant without a derivative."
            f"{describe_origin(self)}"
        )
        raise ConcretizationTypeError(compose_message(description, constant_advice()))

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        fix = "Instead of x[index] = y write x = x.at[index].set(y)."
        raise TypeError(compose_message("traced arrays cannot be changed in place.", fix) + see("in-place-update"))

    def __delitem__(self, index: Any) -> NoReturn:
        fix = "Instead of del x[index] write x = xlascope.numpy.delete(x, index)."
        raise TypeError(compose_message("traced arrays cannot be changed in place.", fix) + see("in-place-update"))

    def block_until_ready(self) -> TracerBase:
        """Return the tracer itself: there is nothing to wait for."""
        return self

    def __copy__(self) -> TracerBase:
        """Return the tracer itself: an immutable value is its own copy."""
        return self

    def __deepcopy__(self, memo: Any) -> TracerBase:
        return self

    def __repr__(self) -> str:
        return f"Traced<{self.aval.str_short()}>"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        value = self.concrete()
        if value is None and spec[-1] in _NUMBER_FORMATS:
            raise ConcretizationTypeError(_concretization_message(f"the text of format {spec!r} for", self, _TEXT_HELP))
        return format(repr(self) if value is None else value, spec)


def _concretization_message(description: str, tracer: TracerBase, fix: Fix) -> str:
    return compose_message(
        f"Abstract value passed where a concrete value is required: {description} {tracer!r} is not known while "
        f"{traced_function_name(tracer)} is traced.{describe_origin(tracer)}",
        fix(tracer) if callable(fix) else fix,
    )


def leaked_error(value: Any) -> UnexpectedTracerError:
    """Return the error for a tracer whose trace has ended, or does not enclose the code that uses the tracer."""
    kind = value.aval.str_short()
    if getattr(value._trace, "alive", False):
        outside = UnexpectedTracerError(
            compose_message(
                f"a traced value of type {kind} was used outside of the transformation (grad, jvp, vmap) that it "
                "belongs to. Rules (of custom_jvp, custom_vjp and the like) run outside of the transformation that "
                "applies them, so neither they nor functions passed to them may close over values that it traces.",
                "Make such a value an argument; closure_convert can do it.",
            )
        )
        outside.page = "closed-over-value"
        return outside
    return UnexpectedTracerError(
        compose_message(
            f"a traced value of type {kind} was used after the function it belongs to had been traced."
            f"{describe_ended_origin(value)} It was probably stored in a global, an attribute or a list by a "
            "function under jit, "
            "grad or vmap.",
            "Return the value from the function instead of storing it.",
        )
    )


def is_enclosing_trace(trace: Any, inner: Any) -> bool:
    """Return whether ``trace`` is ``inner`` or encloses it, so that its values may be used there."""
    while inner is not None:
        if inner is trace:
            return True
        inner = inner.parent
    return False
