"""Lookup of the call that led to a program, by the program's number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.avals import ShapeDtypeStruct
from .arguments import CallArguments, JitOptions, merge_arguments
from .jit_function import jit_function
from .trace_cache import iterate_traces
from .trace_signature import TraceSignature


class ProgramCall(NamedTuple):
    """Call that led to a program: the function, its options, and the call's signature (types only, no arrays)."""

    function: Callable[..., Any]
    options: JitOptions
    signature: TraceSignature

    def rebuild(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Return the jitted function, positional and keyword arguments of an equivalent call.

        Arrays are replaced by ShapeDtypeStructs.
        """
        _, avals, positional, keyword, _ = self.signature
        types_only = [ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in avals]
        arguments = CallArguments(types_only, self.signature.structure, positional, keyword)
        args, kwargs = merge_arguments(arguments, types_only)
        return jit_function(self.function, self.options), tuple(args), dict(kwargs)


def find_program_call(number: int) -> ProgramCall | None:
    """Return the call that led to the program with this number; None if its function or trace no longer exists."""
    for function, options, signature, traced in iterate_traces():
        if traced.number == number:
            return ProgramCall(function, options, signature)
    return None
