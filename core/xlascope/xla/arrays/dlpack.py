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

from ...ir.avals import make_aval
from ...runtime.errors import JaxRuntimeError
from ..devices.array_patching import is_xlascope_array
from ..devices.backend import ArrayImpl, devices
from ..devices.jaxlib_types import call_without_importing_jax, with_aval
from ..sharding.sharded_arrays import is_multi_device
from .transfers import put_on_device

#: DLPack's device type numbers by platform.
DLPACK_DEVICE_TYPES = {"cpu": 1, "cuda": 2, "gpu": 2, "rocm": 10}
SUPPORTED_DTYPES = {
    np.dtype(dtype)
    for dtype in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", ml_dtypes.bfloat16),
    )
}


def dlpack_device_of(x: Any) -> tuple[int, int]:
    """Return the DLPack device type and the device number of an array.

    Raises BufferError for an array on several devices, or on a platform that DLPack does not know.
    """
    if is_multi_device(x):
        raise BufferError(
            f"the array lies on {len(x._sharding.named.devices)} devices, and DLPack knows arrays on one; take "
            "device_put(x, device), or x.addressable_data(0)"
        )
    device = x._sharding._device
    if device.platform not in DLPACK_DEVICE_TYPES:
        raise BufferError(f"DLPack has no name for the memory of a {device.platform.upper()}: copy it with np.asarray")
    return DLPACK_DEVICE_TYPES[device.platform], device.local_hardware_id or 0


def to_dlpack_capsule(
    x: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    """Return an array as a DLPack capsule, whose consumer may read its memory but must not write to it.

    The parameters are those of ``__dlpack__``; ``max_version`` is ignored. Raises BufferError for a dtype that DLPack
    lacks, and for another device than that of the array.
    """
    if x.dtype not in SUPPORTED_DTYPES:
        raise BufferError(f"DLPack has no dtype {x.dtype.name}; convert with astype")
    if dl_device is not None and tuple(map(int, dl_device)) != dlpack_device_of(x):
        raise BufferError(
            f"the array is on device {dlpack_device_of(x)} of DLPack, not on {tuple(dl_device)}; use device_put"
        )
    return _jax.buffer_to_dlpack_managed_tensor(x.__copy__() if copy else x, stream=stream)


class _DLTensor(ctypes.Structure):
    """DLPack's C struct ``DLTensor``, with which the content of a capsule begins."""

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
_DTYPE_CODES = {0: "i", 1: "u", 2: "f", 4: "bfloat16", 5: "c", 6: "bool"}
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_jaxlib_buffer_pointer, _jaxlib_cuda_interface = ArrayImpl.unsafe_buffer_pointer, ArrayImpl.__cuda_array_interface__


def buffer_address(x: Any) -> int:
    """Return the address of an array's first element in its device's memory.

    Raises BufferError for an array on several devices.
    """
    if not is_xlascope_array(x) or x.dtype not in SUPPORTED_DTYPES or x.is_deleted():
        return int(_jaxlib_buffer_pointer(x))
    dlpack_device_of(x)
    # jaxlib's own property imports jax where that is installed; a capsule does not.
    capsule = _jax.buffer_to_dlpack_managed_tensor(x)
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    return (tensor.data or 0) + int(tensor.byte_offset)


def cuda_interface(x: Any) -> dict[str, Any]:
    """Return version 2 of the CUDA array interface of an array.

    Raises AttributeError for an array that is not in the memory of one GPU, and for dtypes without a NumPy type
    string.

    https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
    """
    if not is_xlascope_array(x):
        interface: dict[str, Any] = _jaxlib_cuda_interface.__get__(x)
        return interface
    if is_multi_device(x) or x._sharding._device.platform not in ("cuda", "gpu"):
        raise AttributeError("__cuda_array_interface__ is there for arrays in the memory of one GPU")
    if x.dtype.kind == "V" or x.dtype not in SUPPORTED_DTYPES:
        raise AttributeError(f"__cuda_array_interface__ has no letters for {x.dtype.name}")
    x.block_until_ready()
    return {"shape": x.shape, "typestr": x.dtype.str, "data": (buffer_address(x), True), "strides": None, "version": 2}


def from_dlpack_object(x: Any) -> Any:
    """Return an object with ``__dlpack__`` as an array of xlascope; an array of xlascope is returned as it is.

    CPU memory is copied; an accelerator's memory is shared where it is row-major.
    """
    if is_xlascope_array(x):
        return x
    kind, number = (int(part) for part in x.__dlpack_device__())
    platform = next(
        (name for name, device_type in DLPACK_DEVICE_TYPES.items() if device_type == kind and find_devices(name)), None
    )
    if platform is None:
        raise ValueError(
            f"from_dlpack takes memory of {', '.join(DLPACK_DEVICE_TYPES)}, got an array on DLPack's device {kind}"
        )
    if platform == "cpu":
        with contextlib.suppress(BufferError, RuntimeError):  # NumPy lacks bfloat16
            value = np.from_dlpack(x)
            return put_on_device(np.ascontiguousarray(value).reshape(value.shape), make_aval(value.shape, value.dtype))
    shared = None
    with contextlib.suppress(JaxRuntimeError):
        shared = from_dlpack_capsule(x.__dlpack__(), find_devices(platform)[number])
    if shared is not None and _is_row_major(shared):
        return shared
    value = np.from_dlpack(x) if shared is None else np.asarray(shared)  # strided, or not row-major
    return put_on_device(np.ascontiguousarray(value), make_aval(value.shape, value.dtype))


def from_dlpack_capsule(capsule: Any, device: Any) -> Any:
    """Return the array that a DLPack capsule holds on ``device``, sharing its memory.

    Raises JaxRuntimeError if jaxlib cannot use the memory without a copy.
    """
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    letters = _DTYPE_CODES[tensor.dtype[0]]
    dtype = np.dtype(letters if len(letters) > 1 else f"{letters}{tensor.dtype[1] // 8}")
    shape = tuple((ctypes.c_int64 * tensor.ndim).from_address(tensor.shape)) if tensor.ndim else ()
    array = call_without_importing_jax(lambda: _jax.dlpack_managed_tensor_to_buffer(capsule, device, None))
    return with_aval(array, make_aval(shape, dtype))


def find_devices(platform: str) -> list[Any]:
    """Return the devices of a platform; an empty list if it is not available."""
    try:
        return list(devices(platform))
    except RuntimeError:
        return []


def _is_row_major(x: Any) -> bool:
    axes = ",".join(map(str, reversed(range(len(x.shape)))))
    return str(x._pjrt_layout) == f"{{{axes}}}"
