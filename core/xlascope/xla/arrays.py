"""What an array tells of itself: jaxlib's array class is given its Python face here. Arithmetic comes from
numpy/methods.py.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from ..errors import see
from ..ir.sources import user_line, where_text
from ..runtime.errors import JaxRuntimeError
from .backend import ArrayImpl
from .failures import deleted_error, is_out_of_memory, late_memory_error


def _value(self: Any) -> np.ndarray[Any, Any]:
    """The elements as a NumPy array that shares memory where it can and cannot be written to."""
    held = self._npy_value
    if held is None:
        held = _on_host(self)
        held.flags.writeable = False
        self._npy_value = held
    return held


#: How many threads are copying: the last one lets jax be found again.
_copying = 0
_copying_lock = threading.Lock()


def _on_host(self: Any) -> np.ndarray[Any, Any]:
    if self.is_deleted():
        raise deleted_error(self)
    try:
        self.block_until_ready()
    except JaxRuntimeError as error:  # what computes the array has failed; jaxlib's copy would end the process then
        raise (late_memory_error(error, self) if is_out_of_memory(error) else error) from None
    # jaxlib looks for jax at every copy. Where jax is installed the first copy would import it, and it would take over
    # jaxlib's process-wide states (64-bit types among them); where it is not, the search costs 50 µs each time.
    global _copying
    modules = sys.modules
    if modules.get("jax") is not None:
        return self._single_device_array_to_np_array_did_copy()[0]
    with _copying_lock:
        _copying += 1
        modules["jax"] = None  # type: ignore[assignment]  # "import jax" fails, at once
    try:
        return self._single_device_array_to_np_array_did_copy()[0]
    finally:
        with _copying_lock:
            _copying -= 1
            if not _copying and modules.get("jax") is None:
                modules.pop("jax", None)


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    value = _value(self)
    wanted = value if dtype is None else value.astype(dtype, copy=False)
    return wanted.copy() if copy and wanted is value else wanted


def _length(self: Any) -> int:
    if not self.aval.shape:
        raise TypeError("len() of an array without axes")
    return int(self.aval.shape[0])


def _one(self: Any, what: str) -> np.ndarray[Any, Any]:
    if self.aval.size != 1:
        raise TypeError(f"only an array with one element can be {what}; this one has shape {self.aval.shape}")
    return _value(self).reshape(())


def _truth(self: Any) -> bool:
    if self.aval.size != 1:
        raise ValueError(f"the truth value of an array of shape {self.aval.shape} is ambiguous; use x.any() or x.all()")
    return bool(_value(self))


def _index(self: Any) -> int:
    if self.aval.shape or self.aval.dtype.kind not in "iu":
        raise TypeError(f"only integer arrays without axes can be an index, this is {self.aval.str_short()}")
    return int(_value(self))


def _representation(self: Any) -> str:
    if self.is_deleted():
        return f"Array(<deleted>, {self.aval.str_short()})"
    weak = ", weak_type=True" if self.aval.weak_type else ""
    end = f", dtype={self.aval.dtype.name}{weak})"
    body = np.array2string(_value(self), separator=", ", prefix="Array(")
    return f"Array({body}{end}"


def _setitem(self: Any, index: Any, value: Any) -> None:
    raise TypeError(
        "arrays cannot be changed in place: instead of x[index] = y write x = x.at[index].set(y) "
        f"(inside jit the copy is optimized away){where_text(user_line())}{see('in-place-update')}"
    )


def _reduce(self: Any) -> Any:
    return _rebuild, (np.asarray(self), self.aval.weak_type)


def _rebuild(value: np.ndarray[Any, Any], weak_type: bool) -> np.ndarray[Any, Any]:
    return value


_FACE = {
    "shape": property(lambda self: self.aval.shape),
    "dtype": property(lambda self: self.aval.dtype),
    "ndim": property(lambda self: len(self.aval.shape)),
    "size": property(lambda self: self.aval.size),
    "weak_type": property(lambda self: self.aval.weak_type),
    "sharding": property(lambda self: self._sharding),
    "device": property(lambda self: self._sharding._device),
    "devices": lambda self: {self._sharding._device},
    "committed": property(lambda self: self._committed),
    "__array__": _array,
    "__array_priority__": 100,
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
    "__reduce__": _reduce,
    "__hash__": None,
    "item": lambda self, *args: _value(self).item(*args),
    "tolist": lambda self: _value(self).tolist(),
    "tobytes": lambda self, order="C": _value(self).tobytes(order),
    "copy_to_host_async": lambda self: None,
}
for _name, _member in _FACE.items():
    setattr(ArrayImpl, _name, _member)
