"""Saving and loading of sharded arrays with TensorStore: each process writes and reads the parts on its devices.

The files are zarr arrays, as jax writes and reads them. They need the extra ``tensorstore``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api.distribution import make_array_from_callback as _make_array_from_callback
from ...key_types import KeyType as _KeyType
from ...names import explain_missing as _explain_missing
from ...trace.traceback_filtering import api_boundary as _api_boundary
from ..multihost_utils import sync_global_devices as _sync_global_devices

__all__ = ["get_tensorstore_spec", "run_deserialization", "run_serialization"]

#: Schemes of paths in object stores, and TensorStore's drivers for them.
_BUCKET_DRIVERS = {"gs": "gcs", "s3": "s3"}
_DRIVERS = ("zarr", "zarr3")


def _load_tensorstore() -> Any:
    """Return the module ``tensorstore``; raise ImportError, which names the extra, if it is not installed."""
    try:
        return importlib.import_module("tensorstore")
    except ImportError as error:
        raise ImportError(
            "saving and loading sharded arrays needs tensorstore, which is not installed.\n"
            "pip install xlascope[tensorstore]"
        ) from error


@_api_boundary
def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str], *, ocdbt: bool = False, driver: str = "zarr"
) -> dict[str, Any]:
    """Return TensorStore's specification of an array at a path: a folder, or ``gs://`` or ``s3://`` and a bucket.

    ``driver`` is ``zarr`` or ``zarr3``. Raises NotImplementedError for ``ocdbt``, whose databases are not written here,
    and ValueError for another driver and for a relative path.

    >>> get_tensorstore_spec("/checkpoints/7/weights")
    {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/checkpoints/7/weights'}}
    >>> get_tensorstore_spec("gs://bucket/7/weights")["kvstore"]
    {'driver': 'gcs', 'bucket': 'bucket', 'path': '7/weights'}
    """
    if ocdbt:
        raise NotImplementedError("get_tensorstore_spec(ocdbt=True): arrays are saved to zarr files; leave out ocdbt")
    if driver not in _DRIVERS:
        raise ValueError(f"get_tensorstore_spec: driver is {' or '.join(map(repr, _DRIVERS))}, not {driver!r}")
    path = os.fspath(ckpt_path)
    scheme, separator, rest = path.partition("://")
    if separator and scheme in _BUCKET_DRIVERS:
        bucket, _, name = rest.partition("/")
        return {"driver": driver, "kvstore": {"driver": _BUCKET_DRIVERS[scheme], "bucket": bucket, "path": name}}
    if not os.path.isabs(path):
        raise ValueError(f"get_tensorstore_spec: the path is absolute, so that all processes mean one place: {path!r}")
    return {"driver": driver, "kvstore": {"driver": "file", "path": os.path.normpath(path)}}


@_api_boundary
def run_serialization(arrays: Sequence[Any], tensorstore_specs: Sequence[Any]) -> None:
    """Write arrays to where their specifications say, and return when all processes have.

    ``arrays`` are arrays of any sharding, of one process or several; each part is written once, by the process that
    has its first copy, and is a chunk of the file. All processes have to call this. Raises TypeError for typed keys,
    ImportError without tensorstore, and ValueError if there is another array already.

    >>> import tempfile, xlascope as xs, xlascope.numpy as jnp
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     spec = get_tensorstore_spec(f"{folder}/weights")
    ...     run_serialization([jnp.arange(3.0)], [spec])
    ...     print(*run_deserialization([jnp.arange(3.0).sharding], [spec]))
    [0. 1. 2.]
    """
    store = _load_tensorstore()
    writes: list[Any] = []
    for array, spec in zip(arrays, tensorstore_specs, strict=True):
        writes += _start_writes(store, array, spec)
    for write in writes:
        write.result()
    _sync_global_devices("xlascope array_serialization")


def _start_writes(store: Any, array: Any, spec: Any) -> list[Any]:
    """Start to write the parts of one array that are here and first copies; return the pending writes."""
    if isinstance(getattr(array, "dtype", None), _KeyType):
        raise TypeError("run_serialization: typed keys are saved as numbers; pass random.key_data(key)")
    shape = tuple(array.shape)
    chunk = tuple(max(1, size) for size in array.sharding.shard_shape(shape))
    opened = store.open(
        store.Spec(spec),
        create=True,
        open=True,
        dtype=store.dtype(np.dtype(array.dtype)),
        shape=shape,
        chunk_layout=store.ChunkLayout(chunk_shape=chunk),
    ).result()
    return [
        opened[shard.index].write(np.asarray(shard.data)).commit
        for shard in array.addressable_shards
        if shard.replica_id == 0 and shard.data.size
    ]


@_api_boundary
def run_deserialization(
    shardings: Sequence[Any],
    tensorstore_specs: Sequence[Any],
    global_shapes: Sequence[Sequence[int]] | None = None,
    dtypes: Sequence[Any] | None = None,
    concurrent_gb: int = 32,
) -> list[Any]:
    """Return the arrays that :func:`run_serialization` wrote, with any shardings: each process reads its own parts.

    ``global_shapes`` are the shapes to return, by default those in the files; what is beyond the file is zero.
    ``dtypes`` are those to return. ``concurrent_gb`` has no effect: the parts are read one after the other. Raises
    ImportError without tensorstore, and ValueError for a path without an array.
    """
    del concurrent_gb
    store = _load_tensorstore()
    shapes = [None] * len(shardings) if global_shapes is None else global_shapes
    wanted_dtypes = [None] * len(shardings) if dtypes is None else dtypes
    return [
        _read_array(store, sharding, spec, shape, dtype)
        for sharding, spec, shape, dtype in zip(shardings, tensorstore_specs, shapes, wanted_dtypes, strict=True)
    ]


def _read_array(store: Any, sharding: Any, spec: Any, shape: Sequence[int] | None, dtype: Any) -> Any:
    """Return an array of a file; ``shape`` and ``dtype`` are None for those of the file."""
    opened = store.open(store.Spec(spec), open=True).result()
    stored_shape = tuple(opened.shape)
    full_shape = stored_shape if shape is None else tuple(shape)
    if len(full_shape) != len(stored_shape):
        raise ValueError(f"run_deserialization: the array has the shape {stored_shape}, and {full_shape} was asked for")
    result_dtype = np.dtype(opened.dtype.numpy_dtype if dtype is None else dtype)

    def read(index: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        bounds = [part.indices(size) for part, size in zip(index, full_shape, strict=True)]
        stored = tuple(slice(begin, min(end, size)) for (begin, end, _), size in zip(bounds, stored_shape, strict=True))
        value = np.zeros([end - begin for begin, end, _ in bounds], result_dtype)
        if all(part.start < part.stop for part in stored):
            inside = tuple(slice(0, part.stop - part.start) for part in stored)
            value[inside] = opened[stored].read().result()
        return value

    return _make_array_from_callback(full_shape, sharding, read, result_dtype)


_explain_missing(__name__)
