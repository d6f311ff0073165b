"""Lookup of the call that led to a program, by the program's number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.avals import ShapeDtypeStruct
from .arguments import Arguments, Options, join
from .functions import jit_function
from .signatures import Signature
from .traces import kept_calls


class KnownCall(NamedTuple):
    """Call that led to a program: the function, its options, and the call's signature (types only, no arrays)."""

    function: Callable[..., Any]
    options: Options
    signature: Signature

    def remade(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Return the jitted function and the arguments of an equivalent call, with types in place of arrays."""
        _, avals, positional, named, _ = self.signature
        types_only = [ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in avals]
        arguments = Arguments(types_only, self.signature.structure, positional, named)
        args, kwargs = join(arguments, types_only)
        return jit_function(self.function, self.options), tuple(args), dict(kwargs)


def known_call(number: int) -> KnownCall | None:
    """Return the call that led to a program; None if its function or its trace no longer exists."""
    for function, options, signature, traced in kept_calls():
        if traced.number == number:
            return KnownCall(function, options, signature)
    return None
