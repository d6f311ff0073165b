"""Meshes, and arrays over several devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.jit.shardings import resolve_sharding
from ..control.parallel import sharding_constraints  # noqa: F401  how arrays of several processes get other shardings
from ..dtypes import to_canonical_dtype
from ..errors import see
from ..ir.avals import ShapedArray, make_aval
from ..trace.source import compose_message, here
from ..trace.traceback_filtering import api_boundary
from ..xla.arrays.transfers import put_on_device
from ..xla.devices import backend as backends
from ..xla.sharding.meshes import AxisType, Mesh, PartitionSpec
from ..xla.sharding.named_shardings import MultiDeviceSharding, NamedSharding
from ..xla.sharding.process_blocks import infer_global_shape, to_local_index
from ..xla.sharding.sharded_arrays import array_from_shards


@api_boundary
def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """Return a mesh with axes of those sizes and names, made of the first devices or of ``devices``.

    Its axes are of the kind ``Explicit`` unless ``axis_types`` says otherwise: shardings are part of the
    types of values. Raises ValueError if there are not enough devices.

    >>> import xlascope as xs
    >>> xs.make_mesh((1,), ("batch",)).size
    1
    """
    sizes = tuple(axis_shapes)
    count = math.prod(sizes)
    available = backends.devices() if devices is None else list(devices)
    if count > len(available):
        problem = f"make_mesh: a mesh of {sizes} needs {count} devices, and there are {len(available)}."
        fix = (
            f"For virtual devices on a CPU set XLASCOPE_NUM_CPU_DEVICES={count} (or XLA_FLAGS="
            f"--xla_force_host_platform_device_count={count}) before the first array is made."
        )
        raise ValueError(compose_message(problem, fix) + see("shardings"))
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(sizes)
    return Mesh(np.array(available[:count], dtype=object).reshape(sizes), axis_names, axis_types)


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Any:
    """Return an array whose shards are ``data_callback(index)``; an index is a tuple of slices of the global array.

    ``data_callback`` is called once for each device of this process. Raises ValueError for a shard of another
    shape, and for a shape that cannot be cut like this.

    >>> import numpy as np, xlascope as xs
    >>> mesh = xs.make_mesh((1,), ("i",))
    >>> whole = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    >>> sharding = xs.NamedSharding(mesh, xs.P("i"))
    >>> print(xs.make_array_from_callback((2, 3), sharding, lambda index: whole[index]))
    [[0. 1. 2.]
     [3. 4. 5.]]
    """
    sharding = resolve_sharding("make_array_from_callback", sharding)
    shape = tuple(shape)
    index_by_device = (
        sharding.addressable_devices_indices_map(shape) if isinstance(sharding, MultiDeviceSharding) else None
    )
    if index_by_device is None:
        return _build_from_parts(
            shape, sharding, [data_callback((slice(None),) * len(shape))], [sharding._device], dtype
        )
    parts = [data_callback(index) for index in index_by_device.values()]
    return _build_from_parts(shape, sharding, parts, list(index_by_device), dtype)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """Return the array whose shards are ``arrays``, one on each device of the sharding; it shares their memory.

    Raises ValueError if devices or shapes do not fit.
    """
    sharding = resolve_sharding("make_array_from_single_device_arrays", sharding)
    by_device = {x.device: x for x in arrays}
    target = sharding.addressable_devices if isinstance(sharding, MultiDeviceSharding) else {sharding._device}
    if set(by_device) != set(target) or len(by_device) != len(arrays):
        raise ValueError(
            f"make_array_from_single_device_arrays: the sharding has the devices {_format(target)}, and the arrays are "
            f"on {_format([x.device for x in arrays])}{here()}"
        )
    order = [d for d in (sharding.devices if isinstance(sharding, MultiDeviceSharding) else target) if d in by_device]
    return _build_from_parts(tuple(shape), sharding, [by_device[device] for device in order], order, dtype)


@api_boundary
def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """Return the array of which ``local_data`` are the parts that the devices of this process hold.

    Along each axis the data are the blocks of this process, one after the other, or the whole axis: if
    ``global_shape`` says that the array has that size, or if the axis is not split. Without ``global_shape`` the data
    are blocks. Raises ValueError for data that do not fit the sharding, or the ``global_shape``.

    >>> import numpy as np, xlascope as xs
    >>> mesh = xs.make_mesh((xs.process_count() * xs.local_device_count(),), ("batch",))
    >>> examples = np.ones((4, 3), np.float32)  # those that this process has read
    >>> x = xs.make_array_from_process_local_data(xs.NamedSharding(mesh, xs.P("batch")), examples)
    >>> x.shape == (4 * xs.process_count(), 3)
    True
    """
    sharding = resolve_sharding("make_array_from_process_local_data", sharding)
    value = np.asarray(local_data)
    if not isinstance(sharding, MultiDeviceSharding):
        if global_shape is not None and tuple(global_shape) != value.shape:
            raise ValueError(
                f"make_array_from_process_local_data: the data on the only device have shape {value.shape}, and "
                f"global_shape is {tuple(global_shape)}{here()}"
            )
        return put_on_device(value, make_aval(value.shape, to_canonical_dtype(value.dtype)), sharding._device)
    shape = infer_global_shape(sharding, value.shape, global_shape)
    indices = sharding.addressable_devices_indices_map(shape)
    parts = [value[to_local_index(sharding, index, shape, value.shape)] for index in indices.values()]
    return _build_from_parts(shape, sharding, parts, list(indices), value.dtype)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Stack trees of arrays along a new leading axis, with one tree on each device.

    Raises ValueError if there are not as many trees as devices.
    """
    if len(shards) != len(devices):
        raise ValueError(f"device_put_sharded: {len(shards)} trees for {len(devices)} devices{here()}")
    sharding = _stack_sharding(devices)

    def stack(*leaves: Any) -> Any:
        parts = [np.asarray(leaf)[None] for leaf in leaves]
        return _build_from_parts((len(devices), *parts[0].shape[1:]), sharding, parts, list(devices), None)

    return tree.map(stack, *shards)


def device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """Return a tree of arrays repeated along a new leading axis, with one copy on each device."""
    return device_put_sharded([x] * len(devices), devices)


def _stack_sharding(devices: Sequence[Any]) -> NamedSharding:
    return NamedSharding(Mesh(np.array(list(devices), dtype=object), ("stack",)), PartitionSpec("stack"))


def _build_from_parts(
    shape: tuple[int, ...], sharding: Any, parts: Sequence[Any], devices: Sequence[Any], dtype: Any
) -> Any:
    """Return a global array of that shape and sharding from the values of its shards, one on each of ``devices``.

    ``dtype`` None stands for that of the first shard. Raises ValueError for a shard of another shape.
    """
    part_shape = sharding.shard_shape(shape) if isinstance(sharding, MultiDeviceSharding) else shape
    for part, device in zip(parts, devices, strict=True):
        if np.shape(part) != part_shape:
            raise ValueError(
                f"the part for {device} has shape {np.shape(part)}, and an array of shape {shape} has parts of shape "
                f"{part_shape} there{here()}"
            )
    part_dtype = to_canonical_dtype(np.dtype(dtype) if dtype is not None else np.asarray(parts[0]).dtype)
    device_arrays = [
        put_on_device(part, make_aval(part_shape, part_dtype), device)
        for part, device in zip(parts, devices, strict=True)
    ]
    aval: ShapedArray = make_aval(shape, part_dtype)
    return (
        array_from_shards(aval, sharding, device_arrays, devices)
        if isinstance(sharding, MultiDeviceSharding)
        else device_arrays[0]
    )


def _format(devices: Any) -> str:
    return ", ".join(sorted(map(str, devices)))
