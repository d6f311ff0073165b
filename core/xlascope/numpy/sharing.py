"""Arrays from the memory of others: DLPack, buffers, files of NumPy's."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from ..dtypes import bfloat16, canonical
from ..operations.conversion import convert_element_type
from ..xla.arrays.dlpack import SUPPORTED, imported
from ..xla.arrays.transfers import put
from .axes import whole_number
from .creation import asarray


def shared(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """The array that an object with ``__dlpack__`` stands for: what it holds now.

    Memory of the CPU is copied, for whoever else has it may write into it, and arrays do not change. That of an
    accelerator is shared where its elements lie in C's order: who shares it does not write into it. An array of ours is
    given back as it is, unless ``copy=True``. Elements of 64 bits are narrowed where 64 bits are off. Raises TypeError
    for an object without ``__dlpack__``, and ValueError for memory of a device that is not here, or where
    ``copy=False`` forbids to move it to another ``device``, or to narrow it (the copy of the CPU's memory it does not:
    nobody who does not write can tell).

    >>> import numpy as np, xlascope.numpy as jnp
    >>> print(jnp.from_dlpack(np.arange(3, dtype="float32")))
    [0. 1. 2.]
    """
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")):
        raise TypeError(
            "from_dlpack takes an object with __dlpack__ and __dlpack_device__, got one of type "
            f"{type(external_array).__name__}; asarray takes numbers and lists"
        )
    made = imported(external_array)
    moves = device is not None and device != made.device
    if copy is False and (moves or made.dtype != canonical(made.dtype)):
        raise ValueError("from_dlpack with copy=False: the array is on another device, or of a dtype of 64 bits")
    if made.dtype != canonical(made.dtype):
        made = convert_element_type(made, canonical(made.dtype))
    if moves:
        return put(made, made.aval, device)
    return made.__copy__() if copy else made


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array that an object with ``__dlpack__`` stands for; see :func:`xlascope.dlpack.from_dlpack`."""
    return shared(x, device, copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be shared by DLPack.

    >>> from xlascope import dlpack
    >>> dlpack.is_supported_dtype("bfloat16"), dlpack.is_supported_dtype("int4")
    (True, False)
    """
    return np.dtype(dtype) in SUPPORTED


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """The numbers whose bytes are in a buffer: ``count`` of them (-1: all), from byte ``offset`` on.

    ``dtype`` says how they lie there; those of 64 bits are narrowed where 64 bits are off.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.frombuffer(bytes([1, 2, 3]), "uint8", offset=1))
    [2 3]
    """
    count, offset = whole_number(count, "count"), whole_number(offset, "offset")
    try:
        found = np.frombuffer(buffer, np.dtype(dtype), count, offset)
    except BufferError:
        raise BufferError(f"frombuffer: a buffer has no name for the elements of {buffer!r}; give its bytes") from None
    return asarray(found)


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """The numbers that a text spells, with ``sep`` between them: ``count`` of them (-1: all).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fromstring("1 2 3", int, sep=" "))
    [1 2 3]
    """
    return asarray(np.fromstring(string, np.dtype(dtype), count, sep=sep))


def load(file: IO[bytes] | str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
    """The array in a file of :func:`save`, or the archive of :func:`savez`; further arguments are NumPy's.

    NumPy's files do not name dtypes that it does not know: those of two bytes are bfloat16, others stay bytes.
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == np.dtype("V2"):
        found = found.view(bfloat16)
    return found if found.dtype.type is np.void else asarray(found)


def save(file: IO[bytes] | str | os.PathLike[str], arr: Any, allow_pickle: bool = True) -> None:
    """Write an array into a file that NumPy reads as well; see :func:`numpy.save`."""
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: IO[bytes] | str | os.PathLike[str], *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays into one file that NumPy reads as well; see :func:`numpy.savez`."""
    named = {name: np.asarray(arr) for name, arr in kwds.items()}
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **named)
