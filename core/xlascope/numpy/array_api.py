"""The array API standard: the namespace of an array, and its inspection interface.

The version of the standard implemented here: https://data-apis.org/array-api/2024.12/
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from ..dtypes import to_canonical_dtype
from ..xla.devices.backend import devices
from ..xla.sharding.single_device import resolve_device

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
    """Return the array API namespace of an array, ``xlascope.numpy``: ``x.__array_namespace__()``.

    Raises ValueError for a version of the standard that is not implemented.

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
    """Inspection interface of the array API standard; see :func:`__array_namespace_info__`."""

    def capabilities(self) -> dict[str, bool | int]:
        """Return the capabilities that hold everywhere, including inside jit, where shapes cannot depend on values."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """Return None, which as an argument ``device`` means the default device."""

    def devices(self) -> list[Any]:
        """Return the valid values of an argument ``device``: None, and the devices of the default platform."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the default dtypes by kind; they are the same on every device."""
        _require_device(device)
        kinds = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}
        return {kind: to_canonical_dtype(python_type) for kind, python_type in kinds.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """Return the standard's dtypes that are available now, by name.

        ``kind`` is one kind, a tuple of kinds, or None for all. 64-bit dtypes are included under ``enable_x64``.
        Raises ValueError for a kind that the standard does not have.

        >>> import xlascope.numpy as jnp
        >>> sorted(jnp.__array_namespace_info__().dtypes(kind=("bool", "real floating")))
        ['bool', 'float32']
        """
        _require_device(device)
        names = (name for kind_name in _expand_kinds(kind) for name in _KINDS[kind_name])
        return {name: np.dtype(name) for name in names if to_canonical_dtype(name) == np.dtype(name)}


def _expand_kinds(kind: Any) -> list[str]:
    """Return the kinds of the standard that a ``kind`` argument covers; raise ValueError for an unknown one."""
    requested = kind if isinstance(kind, tuple) else tuple(_KINDS) if kind is None else (kind,)
    expanded: dict[str, None] = {}
    for name in requested:
        if not isinstance(name, str) or name not in (*_KINDS, *_UNIONS):
            raise ValueError(f"kind is one of {', '.join(map(repr, (*_KINDS, *_UNIONS)))}, or a tuple; got {kind!r}")
        expanded.update(dict.fromkeys(_UNIONS.get(name, (name,))))
    return list(expanded)


def _require_device(device: Any) -> None:
    if device is not None:
        resolve_device(device)


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807 (the standard's name)
    """Return the array API standard's inspection interface: capabilities, devices and dtypes.

    >>> import xlascope.numpy as jnp
    >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """
    return ArrayNamespaceInfo()
