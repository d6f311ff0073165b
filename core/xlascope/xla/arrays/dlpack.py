"""Memory shared with other libraries by DLPack.

The specification: https://dmlc.github.io/dlpack/latest/python_spec.html
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib import _jax

from ...ir.avals import shaped
from ...runtime.errors import JaxRuntimeError
from ..devices.backend import ArrayImpl, devices
from ..devices.faces import is_ours
from ..devices.made_by_jaxlib import made, ours
from ..sharding.spread import is_spread
from .transfers import put

#: DLPack's device type numbers by platform.
KINDS = {"cpu": 1, "cuda": 2, "gpu": 2, "rocm": 10}
SUPPORTED = {
    np.dtype(dtype)
    for dtype in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", ml_dtypes.bfloat16),
    )
}


def device_of(x: Any) -> tuple[int, int]:
    """Return the DLPack device type and the device number of an array."""
    if is_spread(x):
        raise BufferError(
            f"the array lies on {len(x._sharding.named.devices)} devices, and DLPack knows arrays on one; take "
            "device_put(x, device), or x.addressable_data(0)"
        )
    device = x._sharding._device
    if device.platform not in KINDS:
        raise BufferError(f"DLPack has no name for the memory of a {device.platform.upper()}: copy it with np.asarray")
    return KINDS[device.platform], device.local_hardware_id or 0


def exported(x: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """Return an array as a DLPack capsule, whose consumer may read its memory but must not write to it.

    Raises BufferError for a dtype that DLPack lacks, and for another device than that of the array.
    """
    if x.dtype not in SUPPORTED:
        raise BufferError(f"DLPack has no dtype {x.dtype.name}; convert with astype")
    if dl_device is not None and tuple(map(int, dl_device)) != device_of(x):
        raise BufferError(f"the array is on device {device_of(x)} of DLPack, not on {tuple(dl_device)}; use device_put")
    return _jax.buffer_to_dlpack_managed_tensor(x.__copy__() if copy else x, stream=stream)


class _Tensor(ctypes.Structure):
    """First fields of a capsule's content: DLPack's ``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),  # type code, bits, vector lanes
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


#: NumPy's kinds of dtypes by DLPack's type codes.
_LETTERS = {0: "i", 1: "u", 2: "f", 4: "bfloat16", 5: "c", 6: "bool"}
_content_of = ctypes.pythonapi.PyCapsule_GetPointer
_content_of.restype, _content_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_address_in_jaxlib, _interface_in_jaxlib = ArrayImpl.unsafe_buffer_pointer, ArrayImpl.__cuda_array_interface__


def address_of(x: Any) -> int:
    """Return where the elements of an array begin in its device's memory.

    Raises BufferError for an array on several devices.
    """
    if not is_ours(x) or x.dtype not in SUPPORTED or x.is_deleted():
        return int(_address_in_jaxlib(x))
    device_of(x)
    # jaxlib's own property imports jax where that is installed; a capsule does not.
    capsule = _jax.buffer_to_dlpack_managed_tensor(x)
    tensor = _Tensor.from_address(_content_of(capsule, b"dltensor"))
    return (tensor.data or 0) + int(tensor.byte_offset)


def cuda_interface(x: Any) -> dict[str, Any]:
    """Return version 2 of the CUDA array interface of an array.

    Raises AttributeError for an array that is not in the memory of one GPU, and for dtypes without a NumPy type
    string.

    https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
    """
    if not is_ours(x):
        interface: dict[str, Any] = _interface_in_jaxlib.__get__(x)
        return interface
    if is_spread(x) or x._sharding._device.platform not in ("cuda", "gpu"):
        raise AttributeError("__cuda_array_interface__ is there for arrays in the memory of one GPU")
    if x.dtype.kind == "V" or x.dtype not in SUPPORTED:
        raise AttributeError(f"__cuda_array_interface__ has no letters for {x.dtype.name}")
    x.block_until_ready()
    return {"shape": x.shape, "typestr": x.dtype.str, "data": (address_of(x), True), "strides": None, "version": 2}


def imported(x: Any) -> Any:
    """Return an object with ``__dlpack__`` as an array.

    CPU memory is copied; an accelerator's memory is shared where it is row-major.
    """
    if is_ours(x):
        return x
    kind, number = (int(part) for part in x.__dlpack_device__())
    platform = next((name for name, device_type in KINDS.items() if device_type == kind and devices_of(name)), None)
    if platform is None:
        raise ValueError(f"from_dlpack takes memory of {', '.join(KINDS)}, got an array on DLPack's device {kind}")
    if platform == "cpu":
        with contextlib.suppress(BufferError, RuntimeError):  # NumPy lacks bfloat16
            value = np.from_dlpack(x)
            return put(np.ascontiguousarray(value).reshape(value.shape), shaped(value.shape, value.dtype))
    shared = None
    with contextlib.suppress(JaxRuntimeError):
        shared = taken(x.__dlpack__(), devices_of(platform)[number])
    if shared is not None and _is_in_rows(shared):
        return shared
    value = np.from_dlpack(x) if shared is None else np.asarray(shared)  # strided, or not row-major
    return put(np.ascontiguousarray(value), shaped(value.shape, value.dtype))


def taken(capsule: Any, device: Any) -> Any:
    """Return the array that a capsule holds, sharing its memory.

    Raises JaxRuntimeError if jaxlib cannot use the memory without a copy.
    """
    tensor = _Tensor.from_address(_content_of(capsule, b"dltensor"))
    letters = _LETTERS[tensor.dtype[0]]
    dtype = np.dtype(letters if len(letters) > 1 else f"{letters}{tensor.dtype[1] // 8}")
    shape = tuple((ctypes.c_int64 * tensor.ndim).from_address(tensor.shape)) if tensor.ndim else ()
    array = made(lambda: _jax.dlpack_managed_tensor_to_buffer(capsule, device, None))
    return ours(array, shaped(shape, dtype))


def devices_of(platform: str) -> list[Any]:
    """Return the devices of a platform; none of one that is not available."""
    try:
        return list(devices(platform))
    except RuntimeError:
        return []


def _is_in_rows(x: Any) -> bool:
    axes = ",".join(map(str, reversed(range(len(x.shape)))))
    return str(x._pjrt_layout) == f"{{{axes}}}"
