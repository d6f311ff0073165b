"""``inspect.look(x)``: the elements of an array."""

from __future__ import annotations

import os
from typing import Any

from ...records.plain import plain
from ...records.store import VERSION
from ..inspection_scope import inspection
from ..result import Inspection
from .array_statistics import measure_array
from .array_store import MAX_NAME_CHARS, ArrayStore, describe_array, encode_facts
from .host_array import HostArray
from .look_text import describe_look, draw_look

#: The formats of :meth:`Look.save`.
SUFFIXES = (".json", ".txt")
#: The arrays that views of this process read.
ARRAYS = ArrayStore()


class Look(Inspection):
    """Result of :func:`look`: an inspection without records; ``facts`` has the statistics of ``array``."""

    def __init__(self, array: Any, name: str) -> None:
        name = plain(str(name or ""), MAX_NAME_CHARS)
        with inspection():
            host = HostArray(array)
            self.facts = measure_array(host)
            #: The text without the picture of the first slice.
            self.summary = describe_look(host, self.facts, name)
            super().__init__("look", (), self.summary + draw_look(host))
            self._json = {**describe_array(host, name), **encode_facts(host, self.facts)}
        self.name, self.array = name, array

    def to_json(self) -> dict[str, Any]:
        """Return the statistics of the array as a JSON-compatible dict; its elements are not in it."""
        return {"xlascope_records": VERSION, "records": [], "array": self._json}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write text (``.txt``) or statistics (``.json``) to a file; raise ValueError for another suffix."""
        if not os.fspath(path).lower().endswith(SUFFIXES):
            raise ValueError(f"cannot write {os.fspath(path)}: a look at an array is saved as .json or .txt")
        super().save(path)


def look(array: Any, /, name: str = "") -> Look:
    """Show the elements of an array: its type, statistics, and a heat map of a slice that is chosen in the notebook.

    ``array`` is one of xlascope, NumPy or jax, of any shape and dtype (typed keys are shown by their words), sharded
    over this process's devices or not; ``name`` (str) is what it is called. Nothing of it is copied where it is in the
    host's memory. Its statistics are those of all elements; minimum, maximum, mean and root mean square of the finite
    ones, and ``facts`` has the indices of the first NaN, of the first infinity and of the largest magnitude. Raises
    UnviewableArrayError, a TypeError, for other objects, traced values, and arrays that were donated.

    >>> import xlascope.numpy as jnp
    >>> looked = look(jnp.array([[0.0, -2.0], [jnp.nan, 1.0]]), "x")
    >>> print(looked)
    x: f32[2,2], 16 B, ...
    4 elements, -2 to 1, mean -0.3333, root mean square 1.291, 25 % zero, 25 % negative
    1 NaN, the first at [1, 0]
    the largest magnitude is at [0, 1]
    magnitudes of [:, :]; N: NaN, I: infinity
    | █|
    |N▒|
    >>> looked.facts.largest
    (0, 1)
    """
    return Look(array, name)
