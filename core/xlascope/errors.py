"""What can go wrong, each with what, where, and the way out.

    XlascopeError
    ├── TracerError (TypeError): a value that is only known when the program runs was needed while it was traced
    │   ├── ConcretizationTypeError: as a number (float(x), int(x))
    │   │   ├── TracerBoolConversionError: as a truth value (if x > 0)
    │   │   └── TracerIntegerConversionError: as an index or a size
    │   └── TracerArrayConversionError: as a NumPy array
    └── UnexpectedTracerError: a tracer was used after its trace had ended

All names are JAX's, so a program that catches them ports.
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


class TracerArrayConversionError(TracerError):
    """A traced value was needed as a NumPy array."""


class UnexpectedTracerError(XlascopeError):
    """A tracer was used after its trace had ended."""
