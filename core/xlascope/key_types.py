"""The types of typed keys. Nothing counts with them: they say which generator a key is for, and of how many words.

NumPy and XLA have no such types. Where values are held and where programs are lowered, an array of keys is its words:
an array of one axis more (``ir.avals.in_words``).
"""

from __future__ import annotations

from typing import Any

import numpy as np


class extended(np.generic):  # noqa: N801  (JAX's name)
    """The kind of types that NumPy has no word for, such as those of typed keys."""


class prng_key(extended):  # noqa: N801  (JAX's name)
    """The kind of the types of typed keys."""


class KeyType:
    """The type of the keys of one generator; there is one object for each.

    >>> KEY_TYPES["threefry2x32"]
    key<fry>
    """

    __slots__ = ("implementation", "itemsize", "name", "words")
    #: As NumPy's dtypes say it of theirs.
    type = prng_key
    kind = "K"

    def __init__(self, implementation: str, tag: str, words: int) -> None:
        #: The generator's name.
        self.implementation = implementation
        self.name = f"key<{tag}>"
        #: How many words of 32 bits a key has.
        self.words = words
        self.itemsize = 4 * words

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return key_type, (self.implementation,)


#: The types of keys by their generator's name.
KEY_TYPES = {
    found.implementation: found
    for found in (KeyType("threefry2x32", "fry", 2), KeyType("rbg", "rbg", 4), KeyType("unsafe_rbg", "urbg", 4))
}


def key_type(implementation: str) -> KeyType:
    """The type of keys for a generator; raises KeyError for one that there is not."""
    return KEY_TYPES[implementation]


def is_key(dtype: Any) -> bool:
    """Whether a dtype is a type of keys.

    >>> is_key(KEY_TYPES["rbg"]), is_key(np.dtype("uint32"))
    (True, False)
    """
    return dtype.__class__ is KeyType
