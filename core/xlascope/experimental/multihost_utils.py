"""Values that the processes of a job exchange: one for all, all for each, and whether they are equal."""

from __future__ import annotations

import itertools as _itertools
import time as _time
from typing import Any

import numpy as np

from .. import tree as _tree
from ..api.distribution import make_array_from_process_local_data as _from_local_data
from ..api.placement import device_put as _device_put
from ..api.process_local_arrays import (
    global_array_to_host_local_array,
    host_local_array_to_global_array,
)
from ..dtypes import to_canonical_dtype as _to_canonical_dtype
from ..names import explain_missing as _explain_missing
from ..records import SharedCalls as _SharedCalls
from ..records import publish as _publish
from ..records.watchers import watchers as _watchers
from ..trace.traceback_filtering import api_boundary as _api_boundary
from ..xla.devices.backend import devices as _devices
from ..xla.devices.backend import local_device_count as _local_device_count
from ..xla.devices.backend import process_count as _process_count
from ..xla.devices.backend import process_index as _process_index
from ..xla.processes.job import current_membership as _current_membership
from ..xla.sharding.meshes import Mesh as _Mesh
from ..xla.sharding.meshes import PartitionSpec as _PartitionSpec
from ..xla.sharding.named_shardings import NamedSharding as _NamedSharding

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "sync_global_devices",
]

#: Longer than any program runs: processes that are gone are noticed by their heartbeats.
_MAX_SYNC_SECONDS = 1e9
#: Barriers are numbered, equally in all processes.
_barrier_numbers = _itertools.count()


def _one_device_of_each_process() -> Any:
    """Return a mesh with the first device of each process, by their numbers."""
    first: dict[int, Any] = {}
    for device in sorted(_devices(), key=lambda device: (device.process_index, device.id)):
        first.setdefault(device.process_index, device)
    return _Mesh(np.array([first[process] for process in sorted(first)], dtype=object), ("processes",))


def _stack(x: Any) -> np.ndarray[Any, Any]:
    """Return the values of all processes, equal in shape and dtype, along a new first axis."""
    value = np.asarray(x)
    value = value.astype(_to_canonical_dtype(value.dtype), copy=False)
    mesh = _one_device_of_each_process()
    split, replicated = (_NamedSharding(mesh, spec) for spec in (_PartitionSpec("processes"), _PartitionSpec()))
    return np.asarray(_device_put(_from_local_data(split, value[None]), replicated))


def _run_on_all_devices() -> None:
    """Run a program that waits for every device of every process."""
    mesh = _Mesh(np.array(_devices(), dtype=object), ("devices",))
    split, replicated = (_NamedSharding(mesh, spec) for spec in (_PartitionSpec("devices"), _PartitionSpec()))
    np.asarray(_device_put(_from_local_data(split, np.zeros(_local_device_count(), np.int8)), replicated))


def _is_spread(x: Any) -> bool:
    return not getattr(x, "is_fully_addressable", True)


@_api_boundary
def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return a tree of NumPy arrays with the values of all processes, in all of them.

    Values of single processes have equal shapes and dtypes in all processes; they are stacked along a new first axis,
    or with ``tiled`` joined along their first axis. An array that lies on devices of several processes is returned
    whole; it takes ``tiled=True``. All processes have to call this.

    >>> import xlascope as xs
    >>> from xlascope.experimental import multihost_utils
    >>> multihost_utils.process_allgather(xs.process_index()).tolist() == list(range(xs.process_count()))
    True
    """

    def gather(x: Any) -> np.ndarray[Any, Any]:
        if _is_spread(x):
            if not tiled:
                raise ValueError("process_allgather: an array of several processes is gathered with tiled=True only")
            return np.asarray(_device_put(x, _NamedSharding(_mesh_of(x), _PartitionSpec())))
        value = np.asarray(x)
        values = _stack(value) if _process_count() > 1 else value[None]
        return values.reshape(-1, *value.shape[1:]) if tiled and value.ndim else values

    return _tree.map(gather, in_tree)


def _mesh_of(x: Any) -> Any:
    sharding = x.sharding
    return sharding.mesh if isinstance(sharding, _NamedSharding) else _Mesh(np.array(sharding.devices), ("devices",))


@_api_boundary
def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Return a tree of NumPy arrays with the values of one process, in all of them.

    The process is the one where ``is_source`` is true, by default that with number 0. Shapes and dtypes are equal in
    all processes, and all of them have to call this. Raises ValueError if there is no source.
    """
    source = _process_index() == 0 if is_source is None else bool(is_source)
    if _process_count() == 1:
        return _tree.map(np.asarray, in_tree)
    sources = np.flatnonzero(_stack(source))
    if not sources.size:
        raise ValueError("broadcast_one_to_all: is_source is false in all processes")
    return _tree.map(lambda x: _stack(x)[sources[0]], in_tree)


@_api_boundary
def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise AssertionError, in all processes, if they have different values in a tree.

    ``fail_message`` begins the message. Shapes and dtypes are equal in all processes, and all of them call this.
    """
    if _process_count() == 1:
        return
    for path, leaf in _tree.leaves_with_path(in_tree):
        values = _stack(leaf)
        equal = [np.array_equal(values[0], value, equal_nan=_can_be_nan(values)) for value in values]
        if not all(equal):
            process = equal.index(False)
            raise AssertionError(
                f"{fail_message + ': ' if fail_message else ''}process {process} has another value than process 0 at "
                f"{_tree.keystr(path) or 'its value'}: {_shorten(values[process])} and {_shorten(values[0])}"
            )


def _can_be_nan(values: np.ndarray[Any, Any]) -> bool:
    return values.dtype.kind in "fc"


def _shorten(value: Any) -> str:
    return np.array2string(value, threshold=6, edgeitems=2)


@_api_boundary
def sync_global_devices(name: str) -> None:
    """Wait until all processes have come to the place called ``name``, and their devices have computed what was asked.

    Raises AssertionError when they have come to places of different names.
    """
    membership = _current_membership()
    if membership is None or membership.num_processes == 1:
        return
    number, began = next(_barrier_numbers), _time.time()
    names = membership.store.gather("sync", name, range(membership.num_processes), _MAX_SYNC_SECONDS)
    other = next((process for process in names if names[process] != names[0]), None)
    if other is not None:
        raise AssertionError(
            f"sync_global_devices: process {other} is at {names[other]!r}, and process 0 at {names[0]!r}"
        )
    if _watchers:
        times = (number,), (began,), (_time.time(),)
        _publish(_SharedCalls(None, "sync_global_devices", began, "barrier", 1, *times, event="barrier"))
    _run_on_all_devices()


_explain_missing(__name__)
