"""Members of jaxlib's array class. Arithmetic comes from numpy/methods.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import starting
from ...dtypes import canonical, kind_of
from ...errors import see
from ...ir.avals import shaped
from ...ir.sources import compose_message
from ...runtime import beside
from ...runtime.differences import RAW_BUFFER
from ...runtime.errors import JaxRuntimeError
from ..devices.faces import give
from ..devices.made_by_jaxlib import made
from ..sharding.named_shardings import first_device
from ..sharding.spread import Shard, gathered, is_spread, lies, shards_of
from .bits import bits_of
from .dlpack import address_of, cuda_interface, device_of, exported
from .failures import deleted_error, is_out_of_memory, late_memory_error
from .transfers import put


def _value(self: Any) -> np.ndarray[Any, Any]:
    """Return the elements as a read-only NumPy array that shares memory where it can.

    A copy is cached with the array. A view that shares its memory is not: it refers to the array by a path on which
    the garbage collector sees no cycle, so neither would ever be freed.
    """
    value = self._npy_value
    if value is None:
        is_sharded = is_spread(self) and not self.is_deleted()
        value = gathered(self, _on_host) if is_sharded else _on_host(self)
        value.flags.writeable = False
        if is_sharded or not _is_on_cpu(self):
            self._npy_value = value
    return value


def _on_host(self: Any) -> np.ndarray[Any, Any]:
    if self.is_deleted():
        raise deleted_error(self)
    try:
        self.block_until_ready()
    except JaxRuntimeError as error:  # the computation of the array failed; jaxlib's copy would abort the process then
        raise (late_memory_error(error, self) if is_out_of_memory(error) else error) from None
    return (_host_view if _is_on_cpu(self) else copy_to_host)(self)


def _is_on_cpu(self: Any) -> bool:
    return bool(first_device(self._sharding).platform == "cpu")


def _host_view(self: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy array that shares the memory of an array on the CPU."""
    try:
        view = memoryview(self)
    except BufferError:  # the buffer protocol has no format for the element type
        view = memoryview(bits_of(self))
    return np.asarray(view).view(self.aval.dtype)


def copy_to_host(self: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy array with the elements of an array on any one device.

    jaxlib's copy imports jax where that is installed, unless it finds something in its place. The buffer protocol
    does not, but exists for the CPU alone.
    """
    with beside.unseen():
        copied: np.ndarray[Any, Any] = self._single_device_array_to_np_array_did_copy()[0]
    return copied


def _start_copy_to_host(self: Any) -> None:
    """Begin to copy an array to the host for a later read; returns at once. CPU arrays need no copy."""
    if not is_spread(self) and not _is_on_cpu(self) and not self.is_deleted():
        with beside.unseen():
            self._copy_single_device_array_to_host_async()


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    value = _value(self)
    converted = value if dtype is None else value.astype(dtype, copy=False)
    return converted.copy() if copy and converted is value else converted


def _length(self: Any) -> int:
    if not self.aval.shape:
        raise TypeError("len() of an array without axes")
    return int(self.aval.shape[0])


def _one(self: Any, conversion: str) -> np.ndarray[Any, Any]:
    if self.aval.size != 1:
        raise TypeError(f"only an array with one element can be {conversion}; this one has shape {self.aval.shape}")
    return _value(self).reshape(())


def _truth(self: Any) -> bool:
    if self.aval.size != 1:
        raise ValueError(f"the truth value of an array of shape {self.aval.shape} is ambiguous; use x.any() or x.all()")
    return bool(_value(self))


def _index(self: Any) -> int:
    if self.aval.shape or kind_of(self.aval.dtype) not in "iu":
        raise TypeError(f"only integer arrays without axes can be an index, this is {self.aval.str_short()}")
    return int(_value(self))


def _representation(self: Any) -> str:
    if self.is_deleted():
        return f"Array(<deleted>, {self.aval.str_short()})"
    weak = ", weak_type=True" if self.aval.weak_type else ""
    end = f", dtype={self.aval.dtype.name}{weak})"
    body = np.array2string(_value(self), separator=", ", prefix="Array(")
    return f"Array({body}{end}"


def _contains(self: Any, value: Any) -> bool:
    comparison = self == value
    if comparison.__class__ is bool:  # not comparable with numbers
        raise TypeError(f"`in` looks for a number or an array, got {value!r} of type {type(value).__name__}")
    return bool(comparison.any())


@starting.boundary
def _setitem(self: Any, index: Any, value: Any) -> None:
    fix = "Instead of x[index] = y write x = x.at[index].set(y) (inside jit the copy is optimized away)."
    raise TypeError(compose_message("arrays cannot be changed in place.", fix) + see("in-place-update"))


@starting.boundary
def _delitem(self: Any, index: Any) -> None:
    fix = "Instead of del x[index] write x = xlascope.numpy.delete(x, index)."
    raise TypeError(compose_message("arrays cannot be changed in place.", fix) + see("in-place-update"))


def _reduce(self: Any) -> Any:
    return _rebuild, (np.asarray(self), self.aval.weak_type)


def _rebuild(value: np.ndarray[Any, Any], weak_type: bool) -> Any:
    """Restore a pickled array on the default device; with 64-bit types off, with its narrower type."""
    return put(value, shaped(value.shape, canonical(value.dtype), weak_type))


def _copied(self: Any) -> Any:
    return put(np.asarray(self), self.aval, self.device if self._committed else None)


def _device(self: Any) -> Any:
    """Return the device; for an array on several of them its sharding, as in JAX."""
    return lies(self) if is_spread(self) else self._sharding._device


def _addressable_data(self: Any, index: int) -> Any:
    """Return the shard of the device with that number; any shard if the array is replicated."""
    shards = shards_of(self)
    return shards[0 if not is_spread(self) or lies(self).is_fully_replicated else index].data


def _global_shards(self: Any) -> list[Shard]:
    """Return the shards on all devices; those of other processes have no data here."""
    local_shards = {shard.device: shard for shard in shards_of(self)}
    if not is_spread(self):
        return list(local_shards.values())
    indices_by_device = lies(self).devices_indices_map(self.aval.shape)
    return [local_shards.get(device) or Shard(device, index, 0, None) for device, index in indices_by_device.items()]


_FACE = {
    "shape": property(lambda self: self.aval.shape),
    "dtype": property(lambda self: self.aval.dtype),
    "ndim": property(lambda self: len(self.aval.shape)),
    "size": property(lambda self: self.aval.size),
    "weak_type": property(lambda self: self.aval.weak_type),
    "sharding": property(lambda self: lies(self) if is_spread(self) else self._sharding),
    "device": property(_device),
    "devices": lambda self: set(self._sharding.named.devices) if is_spread(self) else {self._sharding._device},
    "addressable_shards": property(shards_of),
    "global_shards": property(_global_shards),
    "is_fully_addressable": property(lambda self: not is_spread(self) or lies(self).is_fully_addressable),
    "is_fully_replicated": property(lambda self: not is_spread(self) or lies(self).is_fully_replicated),
    "addressable_data": _addressable_data,
    "committed": property(lambda self: self._committed),
    "__array__": _array,
    "__array_priority__": 100,
    "__cuda_array_interface__": property(cuda_interface),
    "__dlpack__": exported,
    "__dlpack_device__": device_of,
    "__len__": _length,
    "__bool__": _truth,
    "__int__": lambda self: int(_one(self, "converted to an int")),
    "__float__": lambda self: float(_one(self, "converted to a float")),
    "__complex__": lambda self: complex(_one(self, "converted to a complex")),
    "__index__": _index,
    "__repr__": _representation,
    "__str__": lambda self: str(_value(self)),
    "__format__": lambda self, spec: (
        format(_value(self)[()], spec) if self.aval.shape == () else format(str(self), spec)
    ),
    "__setitem__": _setitem,
    "__delitem__": _delitem,
    "__reduce__": _reduce,
    "__copy__": _copied,
    "__deepcopy__": lambda self, memo: _copied(self),
    "__contains__": _contains,
    "__hash__": None,
    "item": lambda self, *args: _value(self).item(*args),
    "tolist": lambda self: _value(self).tolist(),
    "tobytes": lambda self, order="C": _value(self).tobytes(order),
    "copy_to_host_async": _start_copy_to_host,
    "unsafe_buffer_pointer": address_of,
}
if RAW_BUFFER is not None:
    _raw_buffer = RAW_BUFFER
    _FACE["unsafe_raw_buffer"] = lambda self: made(lambda: _raw_buffer(self))
for _name, _member in _FACE.items():
    give(_name, _member)
