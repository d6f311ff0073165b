"""Handler for ``std::terminate``, by which jaxlib's client of the coordination service reports its failure.

jaxlib calls a Python function when the service is gone, and fails to convert the status that it passes: an exception
``std::bad_cast`` leaves a thread of C++, which ends the process by ``std::terminate``. Without a function it logs the
status and aborts, without a word about the program. The handler takes the exception for what it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable
from typing import Any

_BAD_CAST = b"St8bad_cast"
_Handler = ctypes.CFUNCTYPE(None)
#: What C++ may call for as long as the process lives.
_installed_handlers: list[Any] = []


def install_terminate_handler(on_failure: Callable[[], object]) -> bool:
    """Call ``on_failure()`` on a thread of C++ that would end the process by ``std::bad_cast``, and stop that thread.

    Other exceptions end the process as before. Returns False where the C++ library cannot be reached.
    """
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        set_terminate, exception_type = library._ZSt13set_terminatePFvvE, library.__cxa_current_exception_type
    except (OSError, AttributeError):
        return False
    set_terminate.restype = ctypes.c_void_p
    exception_type.restype = ctypes.c_void_p
    previous: list[Any] = []

    def handle() -> None:
        if _type_name(exception_type()) == _BAD_CAST:
            with contextlib.suppress(Exception):
                on_failure()
            threading.Event().wait()  # returning would abort the process
        if previous[0]:
            _Handler(previous[0])()

    handler = _Handler(handle)
    _installed_handlers.append(handler)
    previous.append(set_terminate(ctypes.cast(handler, ctypes.c_void_p)))
    return True


def _type_name(type_info: int | None) -> bytes:
    """Return the mangled name in a ``std::type_info``, whose second word points to it."""
    if not type_info:
        return b""
    address = ctypes.cast(type_info, ctypes.POINTER(ctypes.c_void_p))[1]
    return ctypes.string_at(address).lstrip(b"*") if address else b""
