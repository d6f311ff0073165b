"""Fork safety: arrays in the child of a fork are leaked, since the client's threads, which free memory, are gone.

Otherwise a child that ends as Python does (``sys.exit`` after ``os.fork``) ends with signal 11 while Python
destroys what its parent had made, as it does with jax.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

from ...runtime.errors import JaxRuntimeError
from .platform_selection import started_clients

#: The arrays of the parent, during a fork; in the child forever.
_leaked_arrays: list[Any] = []


def _reference_arrays() -> None:
    """Take a reference to each live array before a fork: afterwards another thread may hold the client's lock."""
    for client in started_clients():
        with contextlib.suppress(JaxRuntimeError):
            _leaked_arrays.extend(client.live_arrays())


def _leak_references() -> None:
    """Leak a reference to the list of arrays in the child of a fork, so that the exit of Python does not free them."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_leaked_arrays))


os.register_at_fork(before=_reference_arrays, after_in_parent=_leaked_arrays.clear, after_in_child=_leak_references)
