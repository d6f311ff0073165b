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
from .choosing import started_clients

#: The arrays of the parent, during a fork; in the child forever.
_held: list[Any] = []


def _hold_arrays() -> None:
    """Take a reference to each array before the fork: afterwards another thread may hold the client's lock."""
    for client in started_clients():
        with contextlib.suppress(JaxRuntimeError):
            _held.extend(client.live_arrays())


def _keep_for_ever() -> None:
    """Leak a reference to the list, so that the end of Python does not free it either."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_held))


os.register_at_fork(before=_hold_arrays, after_in_parent=_held.clear, after_in_child=_keep_for_ever)
