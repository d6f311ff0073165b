"""The array API standard: the namespace that an array belongs to, and what it tells of itself.

The standard, in the version that is meant here: https://data-apis.org/array-api/2024.12/
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..xla.devices.backend import devices
from ..xla.sharding.shardings import device_meant

__array_api_version__ = "2024.12"

#: The dtypes of the standard, by the kinds that it names.
_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


def namespace_of(self: Any, /, *, api_version: str | None = None) -> ModuleType:
    """The module with the standard's functions on an array, ``xlascope.numpy``: ``x.__array_namespace__()``.

    Raises ValueError for a version of the standard that is not followed here.

    >>> import xlascope.numpy as jnp
    >>> jnp.ones(2).__array_namespace__(api_version="2024.12") is jnp
    True
    """
    if api_version not in (None, __array_api_version__):
        raise ValueError(
            f"api_version is {__array_api_version__!r}, the one that is followed here; got {api_version!r}"
        )
    return sys.modules[__package__]


class ArrayNamespaceInfo:
    """What the standard lets a program ask of a library; see :func:`__array_namespace_info__`."""

    def capabilities(self) -> dict[str, bool | int]:
        """What arrays can do everywhere, inside jit too, where shapes do not depend on values."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None, which as an argument ``device`` means the default device."""

    def devices(self) -> list[Any]:
        """What may be an argument ``device``: None, and the devices of the default platform."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of values that are not told any, by kind; the same on every device."""
        _require_device(device)
        kinds = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}
        return {kind: canonical(each) for kind, each in kinds.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard that arrays have now, by name: of one kind, of several in a tuple, or all (None).

        Those of 64 bits are among them under ``enable_x64``. Raises ValueError for a kind that the standard does not
        have.

        >>> import xlascope.numpy as jnp
        >>> sorted(jnp.__array_namespace_info__().dtypes(kind=("bool", "real floating")))
        ['bool', 'float32']
        """
        _require_device(device)
        names = (name for each in _kinds(kind) for name in _KINDS[each])
        return {name: np.dtype(name) for name in names if canonical(name) == np.dtype(name)}


def _kinds(kind: Any) -> list[str]:
    chosen = kind if isinstance(kind, tuple) else tuple(_KINDS) if kind is None else (kind,)
    found: dict[str, None] = {}
    for each in chosen:
        if not isinstance(each, str) or each not in (*_KINDS, *_UNIONS):
            raise ValueError(f"kind is one of {', '.join(map(repr, (*_KINDS, *_UNIONS)))}, or a tuple; got {kind!r}")
        found.update(dict.fromkeys(_UNIONS.get(each, (each,))))
    return list(found)


def _require_device(device: Any) -> None:
    if device is not None:
        device_meant(device)


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807 (the standard's name)
    """What the array API standard lets a program ask: capabilities, devices and dtypes.

    >>> import xlascope.numpy as jnp
    >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """
    return ArrayNamespaceInfo()
