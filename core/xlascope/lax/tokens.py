"""Tokens: values without content that order computations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tree
from ..operations import barriers
from ..trace.gate import array_of
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

    Effects are ordered by themselves here, as in jax, and no function takes a token but :func:`after_all`; an
    ``optimization_barrier`` of a value and a token has the value computed after what the token comes after.

    >>> from xlascope import lax
    >>> lax.create_token()
    Token()
    """
    return Token(array_of(np.int32(0)))


def after_all(*operands: Token) -> Token:
    """Return a token that depends on all of these; raises TypeError for a value that is not a token.

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
