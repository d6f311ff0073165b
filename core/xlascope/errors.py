"""What can go wrong, each with what, where, and the way out.

    XlascopeError
    ├── TracerError (TypeError): a value that is only known when the program runs was needed while it was traced
    │   ├── ConcretizationTypeError: as a number (float(x), int(x))
    │   │   ├── TracerBoolConversionError: as a truth value (if x > 0)
    │   │   ├── TracerIntegerConversionError: as an index or a size
    │   │   └── NonConcreteBooleanIndexError (IndexError): as a mask to index with
    │   └── TracerArrayConversionError: as a NumPy array
    ├── UnexpectedTracerError: a tracer was used after its trace had ended
    └── JaxprTypeError (TypeError): a program is not well-formed

The tracers' errors have JAX's names, so a program that catches them ports.
"""

from __future__ import annotations


class XlascopeError(Exception):
    """The root of the errors that xlascope raises on its own account."""


class TracerError(XlascopeError, TypeError):
    """A value that is only known when the program runs was needed while it was traced."""


class ConcretizationTypeError(TracerError):
    """A traced value was needed as a number."""


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was needed as a truth value."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced value was needed as a Python integer."""


class NonConcreteBooleanIndexError(ConcretizationTypeError, IndexError):
    """A traced mask was used as an index: the shape of the result would depend on its values."""


class TracerArrayConversionError(TracerError):
    """A traced value was needed as a NumPy array."""


class UnexpectedTracerError(XlascopeError):
    """A tracer was used after its trace had ended."""


class JaxprTypeError(XlascopeError, TypeError):
    """A program is not well-formed: it was built or rewritten wrongly."""
