"""What can go wrong, each with what, where, and the way out.

    XlascopeError
    ├── JAXTypeError (TypeError)
    │   ├── TracerError: a value that is only known when the program runs was needed while it was traced
    │   │   ├── ConcretizationTypeError: as a number (float(x), int(x))
    │   │   │   └── TracerBoolConversionError: as a truth value (if x > 0)
    │   │   ├── TracerIntegerConversionError: as an index or a size
    │   │   └── TracerArrayConversionError: as a NumPy array
    │   └── UnexpectedTracerError: a tracer was used after its trace had ended
    ├── KeyReuseError (JAXTypeError): a key was used a second time, with ``debug_key_reuse``
    ├── ShardingTypeError (JAXTypeError): types do not say how the result of an operation lies over devices
    ├── JAXIndexError (IndexError)
    │   └── NonConcreteBooleanIndexError: a traced mask as an index
    ├── JaxprTypeError (TypeError): a program is not well-formed
    └── (JaxRuntimeError: jaxlib's, the compiler or the running program failed)
        ├── CompilationError: the compiler refused what an operation came to, which is a gap of ours
        ├── OutOfMemoryError: the device has no room
        └── DeletedArrayError (ValueError): an array was used after it had been given away

They have JAX's names and JAX's bases, so a program that catches them ports. Each has a page in ``pages/``, which
:func:`explain` prints; the folder is part of the package so that an installed xlascope has it. Errors of Python's own
classes have pages too, named after the mistake, and their messages end with that name.
"""

from __future__ import annotations

from ..names import explain_missing as _explain_missing
from ..runtime.errors import JaxRuntimeError
from .explaining import explain, page_of, see

__all__ = [
    "CompilationError",
    "ConcretizationTypeError",
    "DeletedArrayError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "OutOfMemoryError",
    "ShardingTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "XlascopeError",
    "explain",
    "see",
]


class XlascopeError(Exception):
    """The root of the errors that xlascope raises on its own account; the text ends with where to read more."""

    #: The name of the page about the error, where it is not the one about its class.
    page: str | None = None

    def __str__(self) -> str:
        page = self.page or page_of(type(self))
        return super().__str__() + (see(page) if page else "")


class JAXTypeError(XlascopeError, TypeError):
    """The root of those that are type errors."""


class JAXIndexError(XlascopeError, IndexError):
    """The root of those that are index errors."""


class TracerError(JAXTypeError):
    """A value that is only known when the program runs was needed while it was traced."""


class ConcretizationTypeError(TracerError):
    """A traced value was needed as a number."""


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was needed as a truth value."""


class TracerIntegerConversionError(TracerError):
    """A traced value was needed as a Python integer."""


class TracerArrayConversionError(TracerError):
    """A traced value was needed as a NumPy array."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced mask was used as an index: the shape of the result would depend on its values."""


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its trace had ended."""


class KeyReuseError(JAXTypeError):
    """A typed key was split or drawn from a second time, and ``debug_key_reuse`` is set."""


class ShardingTypeError(JAXTypeError):
    """Values lie along explicit axes of a mesh such that nobody can say how the result of an operation lies."""


class JaxprTypeError(XlascopeError, TypeError):
    """A program is not well-formed: it was built or rewritten wrongly."""


class CompilationError(XlascopeError, JaxRuntimeError):
    """XLA refused a program: an operation let through what it should have refused, or compiled in another way.

    ``compiler_text`` holds the compiler's own words.
    """

    def __init__(self, message: str, compiler_text: str = "") -> None:
        super().__init__(message)
        self.compiler_text = compiler_text


class OutOfMemoryError(XlascopeError, JaxRuntimeError):
    """A device has no room for what a program computes."""


class DeletedArrayError(XlascopeError, JaxRuntimeError, ValueError):
    """An array was used after its memory had been given away or freed.

    It is a ValueError too, because jaxlib raises one where a call that it has seen before meets such an array.
    """


_explain_missing(__name__)
