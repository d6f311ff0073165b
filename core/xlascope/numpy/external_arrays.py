"""Arrays from external memory: DLPack, buffers, and NumPy's files."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from ..dtypes import bfloat16, to_canonical_dtype
from ..operations.conversion import convert_element_type
from ..xla.arrays.dlpack import SUPPORTED_DTYPES, from_dlpack_object
from ..xla.arrays.transfers import put_on_device
from .axes import whole_number
from .creation import asarray


def import_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array with the current values of an object with ``__dlpack__``.

    CPU memory is copied, since its owner may write to it and arrays are immutable. Accelerator memory in
    row-major order is shared; its owner must not write to it. An xlascope array is returned unchanged, unless
    ``copy=True``. 64-bit elements are narrowed unless ``enable_x64`` is on. Raises TypeError for an object
    without ``__dlpack__``, and ValueError for memory of an unavailable device, or if ``copy=False`` and the array
    has to be moved to another ``device`` or narrowed. ``copy=False`` permits the copy of CPU memory.

    >>> import numpy as np, xlascope.numpy as jnp
    >>> print(jnp.from_dlpack(np.arange(3, dtype="float32")))
    [0. 1. 2.]
    """
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")):
        raise TypeError(
            "from_dlpack takes an object with __dlpack__ and __dlpack_device__, got one of type "
            f"{type(external_array).__name__}; asarray takes numbers and lists"
        )
    array = from_dlpack_object(external_array)
    needs_transfer = device is not None and device != array.device
    if copy is False and (needs_transfer or array.dtype != to_canonical_dtype(array.dtype)):
        raise ValueError("from_dlpack with copy=False: the array is on another device, or of a dtype of 64 bits")
    if array.dtype != to_canonical_dtype(array.dtype):
        array = convert_element_type(array, to_canonical_dtype(array.dtype))
    if needs_transfer:
        return put_on_device(array, array.aval, device)
    return array.__copy__() if copy else array


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array with the values of an object with ``__dlpack__``; see :func:`xlascope.dlpack.from_dlpack`."""
    return import_dlpack(x, device, copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Return whether arrays of a dtype can be exchanged by DLPack.

    >>> from xlascope import dlpack
    >>> dlpack.is_supported_dtype("bfloat16"), dlpack.is_supported_dtype("int4")
    (True, False)
    """
    return np.dtype(dtype) in SUPPORTED_DTYPES


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """Return the numbers in a buffer of bytes: ``count`` of them (-1: all), from byte ``offset`` on.

    ``dtype`` is their type in the buffer; 64-bit types are narrowed unless ``enable_x64`` is on.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.frombuffer(bytes([1, 2, 3]), "uint8", offset=1))
    [2 3]
    """
    count, offset = whole_number(count, "count"), whole_number(offset, "offset")
    try:
        values = np.frombuffer(buffer, np.dtype(dtype), count, offset)
    except BufferError:
        raise BufferError(f"frombuffer: a buffer has no name for the elements of {buffer!r}; give its bytes") from None
    return asarray(values)


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """Return the numbers in a text, separated by ``sep``: ``count`` of them (-1: all).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fromstring("1 2 3", int, sep=" "))
    [1 2 3]
    """
    return asarray(np.fromstring(string, np.dtype(dtype), count, sep=sep))


def load(file: IO[bytes] | str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
    """Return the array in a file written by :func:`save`, or the archive written by :func:`savez`.

    Further arguments are those of :func:`numpy.load`. NumPy's files do not name dtypes unknown to NumPy: two-byte
    elements are read as bfloat16, others stay bytes.
    """
    loaded = np.load(file, *args, **kwargs)
    if not isinstance(loaded, np.ndarray):
        return loaded
    if loaded.dtype == np.dtype("V2"):
        loaded = loaded.view(bfloat16)
    return loaded if loaded.dtype.type is np.void else asarray(loaded)


def save(file: IO[bytes] | str | os.PathLike[str], arr: Any, allow_pickle: bool = True) -> None:
    """Write an array into a file that NumPy reads as well; see :func:`numpy.save`."""
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: IO[bytes] | str | os.PathLike[str], *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays into one file that NumPy reads as well; see :func:`numpy.savez`."""
    keyword_arrays = {name: np.asarray(arr) for name, arr in kwds.items()}
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **keyword_arrays)
