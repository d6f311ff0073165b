"""Execution of programs that call Python, and propagation of the exceptions that callbacks raise.

Such a program never takes jaxlib's fast path, and the call waits until it is done. So what it prints and writes
has happened when the call returns, effects of successive programs happen in order, and an exception comes out of
the call that caused it, as the object that was raised.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxlib import _jax

_FAILURE_PATTERN = re.compile(r"xlascope callback failure (\d+)")
#: An interrupt that arrives as the callback begins is raised by :func:`capture_failures` itself, before it can be
#: stored.
_INTERRUPT_PATTERN = re.compile(r"^KeyboardInterrupt\b", re.MULTILINE)
_MAX_FAILURES = 100
_failure_numbers = itertools.count()
_lock = threading.Lock()
#: Exceptions of callbacks by number, until the caller of the program takes them. XLA only passes on a text.
_failures: OrderedDict[int, BaseException] = OrderedDict()


class CallbackError(RuntimeError):
    """Error that XLA sees when a callback raises: it has the number under which the exception is stored."""


def capture_failures(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a callback so that its exceptions (and interrupts) are stored for the caller of the program.

    XLA sees a :class:`CallbackError` instead, by which :func:`run_and_wait` finds the exception.
    """

    def call(*operands: Any) -> Any:
        try:
            return function(*operands)
        except BaseException as error:
            raise CallbackError(
                f"xlascope callback failure {_store_failure(error)}: {type(error).__name__}: {error}"
            ) from error

    return call


def _store_failure(error: BaseException) -> int:
    number = next(_failure_numbers)
    with _lock:
        _failures[number] = error
        while len(_failures) > _MAX_FAILURES:  # several callbacks of one program raised: one exception is raised
            _failures.popitem(last=False)
    return number


class SharedFailure:
    """Store for the exceptions of callbacks in a program that several devices share, for all running calls of it.

    The other devices wait in collectives for the device that calls Python: had that failed, XLA would abort the
    process after a minute. So the program goes on with zeros, makes no more calls, and its caller raises the exception
    when it is done.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._errors: dict[int, BaseException | None] = {}

    @contextmanager
    def raise_failures(self) -> Iterator[None]:
        """Return a context manager that runs the program and raises at its end what a callback raised meanwhile."""
        number = next(_failure_numbers)
        with self._lock:
            self._errors[number] = None
        try:
            yield
        finally:
            with self._lock:
                error = self._errors.pop(number)
        if error is not None:
            raise error

    def wrap_callback(self, function: Callable[..., Any], zeros: Sequence[np.ndarray[Any, Any]]) -> Callable[..., Any]:
        """Wrap a callback so that its exceptions are stored here and it returns ``zeros``, an array per result."""

        def call(*operands: Any) -> Any:
            if any(self._errors.values()):
                return tuple(zeros)
            try:
                return function(*operands)
            except BaseException as error:
                with self._lock:
                    self._errors.update((number, error) for number, stored in self._errors.items() if stored is None)
                return tuple(zeros)

        return call


def run_and_wait(
    executable: Any,
    arguments: Sequence[Any],
    handlers: Sequence[Any],
    token_handler: Any,
    failure: SharedFailure | None = None,
) -> list[Any]:
    """Run an executable that calls Python, and wait until it is done; raises what a callback raised.

    ``arguments`` are jaxlib's arrays; ``handlers`` make an array of each result, and ``token_handler`` one of the
    token that the executable may return after them, which is dropped. (For a function in its place jaxlib would import
    jax where that is installed.) ``failure`` is that of a program that several devices share. Returns the results.
    """
    if failure is not None:
        with failure.raise_failures():
            return run_and_wait(executable, arguments, handlers, token_handler)
    try:
        results = executable.execute_sharded(arguments, with_tokens=True)
        token = results.consume_token()
        tokens = [token_handler] * (len(results) - len(handlers))
        arrays = list(results.consume_with_handlers([*handlers, *tokens]))
        token.block_until_ready()
        return arrays[: len(handlers)]
    except _jax.JaxRuntimeError as error:
        callback_error = _find_failure(error)
        if callback_error is None:
            raise
    raise callback_error  # outside of the handler, or XLA's error would be its context


def _find_failure(error: Exception) -> BaseException | None:
    """Return the exception of a callback that an error of XLA's refers to; None if it does not refer to one."""
    match = _FAILURE_PATTERN.search(str(error))
    if match is None:
        return KeyboardInterrupt() if _INTERRUPT_PATTERN.search(str(error)) else None
    with _lock:
        return _failures.pop(int(match.group(1)), None)
