"""Types of typed PRNG keys: which generator a key is for, and its number of words.

NumPy and XLA have no such types. In memory and in lowered programs, an array of keys is its words: an array
with one more axis (``ir.avals.physical_aval``).
"""

from __future__ import annotations

from typing import Any

import numpy as np


class extended(np.generic):  # noqa: N801  (JAX's name)
    """Abstract type of dtypes that NumPy lacks, such as those of typed keys."""


class prng_key(extended):  # noqa: N801  (JAX's name)
    """Abstract type of the dtypes of typed keys."""


class KeyType:
    """Dtype of the keys of one random generator; ``KEY_TYPES`` has the only object for each generator.

    ``implementation`` is the generator's name, ``tag`` its abbreviation in the dtype's name, ``words`` the
    number of 32-bit words of a key.

    >>> KEY_TYPES["threefry2x32"]
    key<fry>
    """

    __slots__ = ("implementation", "itemsize", "name", "words")
    #: Attributes of NumPy's dtypes.
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
    kind.implementation: kind
    for kind in (KeyType("threefry2x32", "fry", 2), KeyType("rbg", "rbg", 4), KeyType("unsafe_rbg", "urbg", 4))
}


def key_type(implementation: str) -> KeyType:
    """Return the dtype of keys for a generator; raise KeyError for an unknown one."""
    return KEY_TYPES[implementation]


def is_key(dtype: Any) -> bool:
    """Return whether a dtype is a type of keys.

    >>> is_key(KEY_TYPES["rbg"]), is_key(np.dtype("uint32"))
    (True, False)
    """
    return dtype.__class__ is KeyType
