"""Tokens: values without content that order computations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tree
from ..operations import barriers
from ..trace.operand_coercion import to_array
from ..trace.source import here


class Token:
    """Pytree of one unused number that depends on the computations before the token."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Token()"


tree.register_pytree_node(Token, lambda token: ((token.value,), None), lambda _, values: Token(*values))


def create_token(_: Any = None) -> Token:
    """Return a token that depends on nothing; the argument is ignored.

    Effects are ordered without tokens here, as in jax, and only :func:`after_all` takes tokens. An
    ``optimization_barrier`` of a value and a token lets the value be computed after what the token depends on.

    >>> from xlascope import lax
    >>> lax.create_token()
    Token()
    """
    return Token(to_array(np.int32(0)))


def after_all(*operands: Token) -> Token:
    """Return a token that depends on all of the given tokens; raises TypeError for a value that is not a token.

    >>> from xlascope import lax
    >>> lax.after_all(lax.create_token(), lax.create_token())
    Token()
    """
    for token in operands:
        if not isinstance(token, Token):
            raise TypeError(f"after_all takes tokens, got a {type(token).__name__}{here()}")
    if not operands:
        return create_token()
    return Token(barriers.optimization_barrier([token.value for token in operands])[0])
