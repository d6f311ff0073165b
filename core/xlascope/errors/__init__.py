"""Errors, each with the problem, its location, and a fix.

    XlascopeError
    ├── JAXTypeError (TypeError)
    │   ├── TracerError: a value that is only known when the program runs was needed while it was traced
    │   │   ├── ConcretizationTypeError: as a number (float(x), int(x))
    │   │   │   └── TracerBoolConversionError: as a truth value (if x > 0)
    │   │   ├── TracerIntegerConversionError: as an index or a size
    │   │   └── TracerArrayConversionError: as a NumPy array
    │   └── UnexpectedTracerError: a tracer was used after its trace had ended
    ├── KeyReuseError (JAXTypeError): a key was used a second time, with ``debug_key_reuse``
    ├── ShardingTypeError (JAXTypeError): types do not determine the sharding of an operation's result
    ├── JAXIndexError (IndexError)
    │   └── NonConcreteBooleanIndexError: a traced mask as an index
    ├── JaxprTypeError (TypeError): a program is not well-formed
    ├── DistributedError (RuntimeError): the processes of a job do not come together
    │   ├── PeerLostError: another process of the job is gone
    │   ├── CoordinatorLostError: the process that coordinates the job is gone
    │   ├── PeerAbsentError: a process does not come to a program that the others wait to run with it
    │   └── ProgramMismatchError: processes were about to run different programs together
    └── (JaxRuntimeError: jaxlib's, the compiler or the running program failed)
        ├── CompilationError: the compiler rejected a program, which is a bug of ours
        ├── OutOfMemoryError: the device is out of memory
        └── DeletedArrayError (ValueError): an array was used after it had been given away

They have JAX's names and JAX's bases, so a program that catches them ports. Each has a page in ``pages/``,
which :func:`explain` prints; the folder is part of the package so that an installed xlascope has it. Errors
of Python's own classes have pages too, named after the mistake, and their messages end with that name.
"""

from __future__ import annotations

from ..names import explain_missing as _explain_missing
from ..runtime.errors import JaxRuntimeError
from .explaining import explain, page_of, see

__all__ = [
    "CompilationError",
    "ConcretizationTypeError",
    "CoordinatorLostError",
    "DeletedArrayError",
    "DistributedError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "OutOfMemoryError",
    "PeerAbsentError",
    "PeerLostError",
    "ProgramMismatchError",
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
    """Base class of xlascope's own errors; the message ends with a reference to a page."""

    #: The name of the page about the error, where it is not the one about its class.
    page: str | None = None

    def __str__(self) -> str:
        page = self.page or page_of(type(self))
        return super().__str__() + (see(page) if page else "")


class JAXTypeError(XlascopeError, TypeError):
    """Base class of xlascope's type errors."""


class JAXIndexError(XlascopeError, IndexError):
    """Base class of xlascope's index errors."""


class TracerError(JAXTypeError):
    """Error for a value that was needed while tracing but is only known when the program runs."""


class ConcretizationTypeError(TracerError):
    """Error for a traced value that was needed as a number."""


class TracerBoolConversionError(ConcretizationTypeError):
    """Error for a traced value that was needed as a truth value."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """Error for a traced value that was needed as a Python integer.

    JAX raises either this class, ConcretizationTypeError or TypeError for a traced size: all of them catch it here.
    """


class TracerArrayConversionError(ConcretizationTypeError):
    """Error for a traced value that was needed as a NumPy array; see :class:`TracerIntegerConversionError`."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """Error for a traced mask as an index: the shape of the result would depend on its values."""


class UnexpectedTracerError(JAXTypeError):
    """Error for a tracer that was used after its trace had ended."""


class KeyReuseError(JAXTypeError):
    """Error for a typed key that was split or drawn from a second time under ``debug_key_reuse``."""


class ShardingTypeError(JAXTypeError):
    """Error for operands whose explicit shardings do not determine the sharding of a result."""


class JaxprTypeError(XlascopeError, TypeError):
    """Error for a program that is not well-formed: it was built or rewritten wrongly."""


class DistributedError(XlascopeError, RuntimeError):
    """Error for processes of one job that do not come together, or do not stay together."""


class PeerLostError(DistributedError):
    """Error for another process of the job that is gone: it was killed, it failed, or its machine is unreachable."""


class CoordinatorLostError(DistributedError):
    """Error for a coordination service that is gone, and with it the process with number 0."""


class PeerAbsentError(DistributedError):
    """Error for a process that is alive and does not come to a program that others wait to run with it.

    The setting ``program_wait_seconds`` says how long they wait.
    """


class ProgramMismatchError(DistributedError):
    """Error for processes that were about to run different programs together, under ``compare_programs``."""


class CompilationError(XlascopeError, JaxRuntimeError):
    """Error for a program that XLA rejected, because of a bug in xlascope.

    ``compiler_text`` holds the compiler's own message.
    """

    def __init__(self, message: str, compiler_text: str = "") -> None:
        super().__init__(message)
        self.compiler_text = compiler_text


class OutOfMemoryError(XlascopeError, JaxRuntimeError):
    """Error for a program that needs more memory than a device has."""


class DeletedArrayError(XlascopeError, JaxRuntimeError, ValueError):
    """Error for an array that was used after its memory had been donated or freed.

    It is a ValueError too, because jaxlib raises one if a call in its call cache gets such an array.
    """


_explain_missing(__name__)
