"""Members of jaxlib's array class. Arithmetic comes from numpy/methods.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import bootstrap
from ...dtypes import dtype_kind, to_canonical_dtype
from ...errors import see
from ...ir.avals import make_aval
from ...ir.user_frames import compose_message
from ...runtime import jax_coexistence
from ...runtime.errors import JaxRuntimeError
from ...runtime.jaxlib_differences import RAW_BUFFER
from ..devices.array_patching import define_array_member
from ..devices.backend import ArrayImpl
from ..devices.jaxlib_types import call_without_importing_jax
from ..processes.job import raise_if_lost
from ..sharding.named_shardings import first_device
from ..sharding.sharded_arrays import (
    Shard,
    addressable_shards,
    array_sharding,
    far_array_error,
    gather_shards,
    is_local,
    is_multi_device,
)
from .bitcast import bitcast_to_uint
from .dlpack import buffer_address, cuda_interface, dlpack_device_of, to_dlpack_capsule
from .runtime_errors import deleted_error, is_out_of_memory, late_memory_error
from .transfers import put_on_device


def _host_value(self: Any) -> np.ndarray[Any, Any]:
    """Return the elements as a read-only NumPy array that shares memory where it can.

    A copy is cached with the array. A view that shares its memory is not: it refers to the array by a path on which
    the garbage collector sees no cycle, so neither would ever be freed.
    """
    value = self._npy_value
    if value is None:
        is_sharded = is_multi_device(self) and not self.is_deleted()
        value = gather_shards(self, _fetch_to_host) if is_sharded else _fetch_to_host(self)
        value.flags.writeable = False
        if is_sharded or not _is_on_cpu(self):
            self._npy_value = value
    return value


def _fetch_to_host(self: Any) -> np.ndarray[Any, Any]:
    if self.is_deleted():
        raise deleted_error(self)
    if not is_local(first_device(self._sharding)):
        raise far_array_error(self)
    try:
        self.block_until_ready()
    except JaxRuntimeError as error:  # the computation of the array failed; jaxlib's copy would abort the process then
        raise_if_lost(error)
        raise (late_memory_error(error, self) if is_out_of_memory(error) else error) from None
    return (_host_view if _is_on_cpu(self) else copy_to_host)(self)


def _is_on_cpu(self: Any) -> bool:
    return bool(first_device(self._sharding).platform == "cpu")


def _host_view(self: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy array that shares the memory of an array on the CPU."""
    try:
        view = memoryview(self)
    except BufferError:  # the buffer protocol has no format for the element type
        view = memoryview(bitcast_to_uint(self))
    return np.asarray(view).view(self.aval.dtype)


def copy_to_host(self: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy array with the elements of an array on one device of any platform.

    jaxlib's copy imports jax where that is installed, unless it finds something in its place. The buffer protocol
    does not, but exists for the CPU alone.
    """
    with jax_coexistence.unseen():
        copied: np.ndarray[Any, Any] = self._single_device_array_to_np_array_did_copy()[0]
    return copied


def _start_copy_to_host(self: Any) -> None:
    """Start to copy an array to the host for a later read, and return at once; arrays on the CPU need no copy."""
    if not is_multi_device(self) and not _is_on_cpu(self) and not self.is_deleted():
        with jax_coexistence.unseen():
            self._copy_single_device_array_to_host_async()


def _to_numpy(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    value = _host_value(self)
    converted = value if dtype is None else value.astype(dtype, copy=False)
    return converted.copy() if copy and converted is value else converted


def _len(self: Any) -> int:
    if not self.aval.shape:
        raise TypeError("len() of an array without axes")
    return int(self.aval.shape[0])


def _single_element(self: Any, conversion: str) -> np.ndarray[Any, Any]:
    if self.aval.size != 1:
        raise TypeError(f"only an array with one element can be {conversion}; this one has shape {self.aval.shape}")
    return _host_value(self).reshape(())


def _to_bool(self: Any) -> bool:
    if self.aval.size != 1:
        raise ValueError(f"the truth value of an array of shape {self.aval.shape} is ambiguous; use x.any() or x.all()")
    return bool(_host_value(self))


def _to_index(self: Any) -> int:
    if self.aval.shape or dtype_kind(self.aval.dtype) not in "iu":
        raise TypeError(f"only integer arrays without axes can be an index, this is {self.aval.str_short()}")
    return int(_host_value(self))


def _to_repr(self: Any) -> str:
    if self.is_deleted():
        return f"Array(<deleted>, {self.aval.str_short()})"
    if not _can_be_fetched(self):
        return f"Array(shape={self.aval.shape}, dtype={self.aval.dtype.name})"
    weak = ", weak_type=True" if self.aval.weak_type else ""
    shape = "" if self.aval.size else f", shape={self.aval.shape}"  # which the brackets do not show
    end = f"{shape}, dtype={self.aval.dtype.name}{weak})"
    body = np.array2string(_host_value(self), separator=", ", prefix="Array(")
    return f"Array({body}{end}"


def _to_format(self: Any, spec: str) -> str:
    if self.aval.shape == ():
        return format(_host_value(self)[()], spec)
    try:
        return format(str(self), spec)
    except ValueError:
        raise TypeError(
            f"the format {spec!r} is for one number, and this is an array of shape {self.aval.shape}. Format its "
            "elements, or set the digits: with numpy.printoptions(precision=2)"
        ) from None


def watch_waits() -> None:
    """Let waits for arrays say which process is gone if that is why they fail; called once several processes are."""
    wait = ArrayImpl.block_until_ready

    def block_until_ready(self: Any) -> Any:
        try:
            return wait(self)
        except JaxRuntimeError as error:
            raise_if_lost(error)
            raise

    define_array_member("block_until_ready", block_until_ready)


def _can_be_fetched(self: Any) -> bool:
    """Return whether this process has all elements of an array."""
    sharding = array_sharding(self) if is_multi_device(self) else self._sharding
    return bool(sharding.is_fully_addressable or (sharding.is_fully_replicated and self.addressable_shards))


def _contains(self: Any, value: Any) -> bool:
    comparison = self == value
    if comparison.__class__ is bool:  # not comparable with numbers
        raise TypeError(f"`in` looks for a number or an array, got {value!r} of type {type(value).__name__}")
    return bool(comparison.any())


@bootstrap.api_boundary
def _setitem(self: Any, index: Any, value: Any) -> None:
    fix = "Instead of x[index] = y write x = x.at[index].set(y) (inside jit the copy is optimized away)."
    raise TypeError(compose_message("arrays cannot be changed in place.", fix) + see("in-place-update"))


@bootstrap.api_boundary
def _delitem(self: Any, index: Any) -> None:
    fix = "Instead of del x[index] write x = xlascope.numpy.delete(x, index)."
    raise TypeError(compose_message("arrays cannot be changed in place.", fix) + see("in-place-update"))


def _reduce(self: Any) -> Any:
    return _unpickle, (np.asarray(self), self.aval.weak_type)


def _unpickle(value: np.ndarray[Any, Any], weak_type: bool) -> Any:
    """Restore a pickled array on the default device; with 64-bit types off, with its narrower type."""
    return put_on_device(value, make_aval(value.shape, to_canonical_dtype(value.dtype), weak_type))


def _copy(self: Any) -> Any:
    return put_on_device(np.asarray(self), self.aval, self.device if self._committed else None)


def _device(self: Any) -> Any:
    """Return the device of an array; for an array on several devices its sharding, as ``x.device`` does in JAX."""
    return array_sharding(self) if is_multi_device(self) else self._sharding._device


def _addressable_data(self: Any, index: int) -> Any:
    """Return the data of shard number ``index`` among those of this process; of any if the array is replicated."""
    shards = addressable_shards(self)
    return shards[0 if not is_multi_device(self) or array_sharding(self).is_fully_replicated else index].data


def _global_shards(self: Any) -> list[Shard]:
    """Return the shards of an array on all devices; those of other processes have None as their data."""
    local_shards = {shard.device: shard for shard in addressable_shards(self)}
    if not is_multi_device(self):
        return list(local_shards.values())
    indices_by_device = array_sharding(self).devices_indices_map(self.aval.shape)
    return [local_shards.get(device) or Shard(device, index, 0, None) for device, index in indices_by_device.items()]


_ARRAY_MEMBERS = {
    "shape": property(lambda self: self.aval.shape),
    "dtype": property(lambda self: self.aval.dtype),
    "ndim": property(lambda self: len(self.aval.shape)),
    "size": property(lambda self: self.aval.size),
    "weak_type": property(lambda self: self.aval.weak_type),
    "sharding": property(lambda self: array_sharding(self) if is_multi_device(self) else self._sharding),
    "device": property(_device),
    "devices": lambda self: set(self._sharding.named.devices) if is_multi_device(self) else {self._sharding._device},
    "addressable_shards": property(addressable_shards),
    "global_shards": property(_global_shards),
    "is_fully_addressable": property(
        lambda self: (array_sharding(self) if is_multi_device(self) else self._sharding).is_fully_addressable
    ),
    "is_fully_replicated": property(lambda self: not is_multi_device(self) or array_sharding(self).is_fully_replicated),
    "addressable_data": _addressable_data,
    "committed": property(lambda self: self._committed),
    "__array__": _to_numpy,
    "__array_priority__": 100,
    "__cuda_array_interface__": property(cuda_interface),
    "__dlpack__": to_dlpack_capsule,
    "__dlpack_device__": dlpack_device_of,
    "__len__": _len,
    "__bool__": _to_bool,
    "__int__": lambda self: int(_single_element(self, "converted to an int")),
    "__float__": lambda self: float(_single_element(self, "converted to a float")),
    "__complex__": lambda self: complex(_single_element(self, "converted to a complex")),
    "__index__": _to_index,
    "__repr__": _to_repr,
    "__str__": lambda self: str(_host_value(self)),
    "__format__": _to_format,
    "__setitem__": _setitem,
    "__delitem__": _delitem,
    "__reduce__": _reduce,
    "__copy__": _copy,
    "__deepcopy__": lambda self, memo: _copy(self),
    "__contains__": _contains,
    "__hash__": None,
    "item": lambda self, *args: _host_value(self).item(*args),
    "tolist": lambda self: _host_value(self).tolist(),
    # Not in jax, whose arrays matplotlib knows: without it `plt.hist(x)` reads one element after the other.
    "to_numpy": lambda self: _host_value(self),
    "tobytes": lambda self, order="C": _host_value(self).tobytes(order),
    "copy_to_host_async": _start_copy_to_host,
    "unsafe_buffer_pointer": buffer_address,
}
if RAW_BUFFER is not None:
    _raw_buffer = RAW_BUFFER
    _ARRAY_MEMBERS["unsafe_raw_buffer"] = lambda self: call_without_importing_jax(lambda: _raw_buffer(self))
for _name, _member in _ARRAY_MEMBERS.items():
    define_array_member(_name, _member)
