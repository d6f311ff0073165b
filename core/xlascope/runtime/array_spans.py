"""Replacements of jaxlib's functions that wait and transfer, which time them on watched threads.

Without a watcher jaxlib's own functions are in place. A replacement passes its arguments on as they are, returns and
raises what the original does, and has its name; on other threads it only calls the original. Importing this module
does not boot the engine.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from jaxlib import _jax

#: Attribute of a replacement that holds the original.
ORIGINAL = "replaced_by_xlascope"
#: From this time on a transfer is long.
LONG_TRANSFER_SECONDS = 100e-6
_clock, _thread = time.perf_counter, threading.get_ident
_ArrayImpl: Any = _jax.ArrayImpl


class SpanReceiver(Protocol):
    """Receiver of the spans of one thread, ``thread`` (an identifier of :func:`threading.get_ident`)."""

    thread: int
    #: When a span without others inside began that goes on; 0.0 outside of one.
    waiting_since: float

    def add(self, activity: str, began: float, ended: float) -> None:
        """Add a span without others inside; both times are of ``time.perf_counter``."""

    def add_wait(self, began: float) -> None:
        """Add a wait that ends now."""

    def enter(self, activity: str) -> None:
        """Begin a span that may have others inside."""

    def leave(self) -> object:
        """End the span that began last."""


class _SeveralReceivers:
    """Receivers of the spans of one thread, as one."""

    def __init__(self, receivers: tuple[SpanReceiver, ...]) -> None:
        self.receivers = receivers
        self.thread = receivers[0].thread

    @property
    def waiting_since(self) -> float:
        return self.receivers[0].waiting_since

    @waiting_since.setter
    def waiting_since(self, value: float) -> None:
        for receiver in self.receivers:
            receiver.waiting_since = value

    def add(self, activity: str, began: float, ended: float) -> None:
        for receiver in self.receivers:
            receiver.add(activity, began, ended)

    def add_wait(self, began: float) -> None:
        for receiver in self.receivers:
            receiver.add_wait(began)

    def enter(self, activity: str) -> None:
        for receiver in self.receivers:
            receiver.enter(activity)

    def leave(self) -> None:
        for receiver in self.receivers:
            receiver.leave()


_lock = threading.Lock()
_receivers: dict[int, SpanReceiver] = {}
_installed: list[tuple[Any, str, Any]] = []


def watch_arrays(receiver: SpanReceiver) -> Callable[[], None]:
    """Report waits and transfers of the receiver's thread from now on; return a function that ends that.

    jaxlib's functions are replaced for the first receiver, and restored after the last.
    """
    with _lock:
        if not _receivers:
            _install()
        _set_receivers(receiver.thread, (*_list_receivers(receiver.thread), receiver))

    def stop() -> None:
        with _lock:
            remaining = tuple(item for item in _list_receivers(receiver.thread) if item is not receiver)
            _set_receivers(receiver.thread, remaining)
            if not _receivers:
                _uninstall()

    return stop


def _list_receivers(thread: int) -> tuple[SpanReceiver, ...]:
    receiver = _receivers.get(thread)
    if isinstance(receiver, _SeveralReceivers):
        return receiver.receivers
    return () if receiver is None else (receiver,)


def _set_receivers(thread: int, receivers: tuple[SpanReceiver, ...]) -> None:
    if not receivers:
        _receivers.pop(thread, None)
    else:
        _receivers[thread] = receivers[0] if len(receivers) == 1 else _SeveralReceivers(receivers)


def _install() -> None:
    _replace(_ArrayImpl, "block_until_ready", _time_wait)
    _replace(_ArrayImpl, "__array__", _time_conversion)
    _replace(_ArrayImpl, "_single_device_array_to_np_array_did_copy", _time_copy_to_host)
    for module in (_jax, sys.modules.get("jaxlib.xla_client")):
        _replace(module, "batched_block_until_ready", _time_wait)
        _replace(module, "batched_device_put", _time_transfer)


def _uninstall() -> None:
    """Restore the originals, except where something else has been set since."""
    while _installed:
        owner, name, replacement = _installed.pop()
        if owner.__dict__.get(name) is replacement:
            setattr(owner, name, getattr(replacement, ORIGINAL))


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(owner, "__dict__", {}).get(name)
    if original is None:
        return
    replacement = make(original)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        if isinstance(value := getattr(original, attribute, None), str):
            setattr(replacement, attribute, value)
    setattr(replacement, ORIGINAL, original)
    setattr(owner, name, replacement)
    _installed.append((owner, name, replacement))


def _time_wait(original: Any) -> Any:
    """Return a timed replacement of a function that waits; it is called often, and short."""

    def call_timed(*args: Any, **kwargs: Any) -> Any:
        receiver = _receivers.get(_thread())
        if receiver is None:
            return original(*args, **kwargs)
        receiver.waiting_since = began = _clock()
        try:
            return original(*args, **kwargs)
        finally:
            receiver.add_wait(began)

    return call_timed


def _time_transfer(original: Any) -> Any:
    """Return a timed replacement of a transfer to the device.

    Where the one before was long, the processor's clock is read as well, which costs as much as a short transfer.
    """
    was_long = True

    def call_timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal was_long
        receiver = _receivers.get(_thread())
        if receiver is None:
            return original(*args, **kwargs)
        measures_processor, began = was_long, _clock()
        if measures_processor:
            receiver.enter("to_device")
        else:
            receiver.waiting_since = began
        try:
            return original(*args, **kwargs)
        finally:
            ended = _clock()
            was_long = ended - began > LONG_TRANSFER_SECONDS
            if measures_processor:
                receiver.leave()
            else:
                receiver.add("to_device", began, ended)

    return call_timed


def _time_conversion(original: Any) -> Any:
    """Return a timed replacement of a function that copies to the host, and may wait in it."""

    def call_timed(*args: Any, **kwargs: Any) -> Any:
        receiver = _receivers.get(_thread())
        if receiver is None:
            return original(*args, **kwargs)
        receiver.enter("to_host")
        try:
            return original(*args, **kwargs)
        finally:
            receiver.leave()

    return call_timed


def _time_copy_to_host(original: Any) -> Any:
    """Return a timed replacement of jaxlib's copy to the host: it waits first, so that both are told apart."""
    copy = _time_conversion(original)

    def call_timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _thread() in _receivers:
            _wait_until_ready(self)
        return copy(self, *args, **kwargs)

    return call_timed


def _wait_until_ready(array: Any) -> None:
    """Wait for an array; what fails here fails in the copy again."""
    try:
        if not array.is_ready():
            array.block_until_ready()
    except Exception:
        return
