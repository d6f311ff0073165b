"""Programs that call Python: running them, and handing on what the called functions raise.

Such a program never takes jaxlib's fast path, and is waited for. So what it prints and writes has happened when the
call returns, effects of successive programs happen in order, and an exception comes out of the call that caused it, as
the object that was raised.
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

_MARK = re.compile(r"xlascope callback failure (\d+)")
#: An interrupt that waited until the callback began came out of :func:`guarded` itself, before it could keep it.
_INTERRUPTED = re.compile(r"^KeyboardInterrupt\b", re.MULTILINE)
_MOST_FAILURES = 100
_numbers = itertools.count()
_lock = threading.Lock()
#: What callbacks raised, by number, until the caller of the program picks it up. XLA hands on no more than a text.
_failures: OrderedDict[int, BaseException] = OrderedDict()


class CallbackError(RuntimeError):
    """What XLA is told when a callback raises: the number under which the exception is kept."""


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, keeping what it raises (an interrupt as well) for the caller of the program."""

    def call(*operands: Any) -> Any:
        try:
            return function(*operands)
        except BaseException as error:
            raise CallbackError(f"xlascope callback failure {_keep(error)}: {type(error).__name__}: {error}") from error

    return call


def _keep(error: BaseException) -> int:
    number = next(_numbers)
    with _lock:
        _failures[number] = error
        while len(_failures) > _MOST_FAILURES:  # several callbacks of one program raised: one of them is handed on
            _failures.popitem(last=False)
    return number


class SharedFailure:
    """What a callback raised in a program that several devices share, for all calls of the program that are under way.

    The other devices wait in collectives for what the one that called has: had that failed, XLA would end the process
    after a minute. So the program goes on with zeros, calls nothing more, and its caller raises when it is over.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._errors: dict[int, BaseException | None] = {}

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Run the program in this block, and raise at its end what a callback raised meanwhile."""
        number = next(_numbers)
        with self._lock:
            self._errors[number] = None
        try:
            yield
        finally:
            with self._lock:
                error = self._errors.pop(number)
        if error is not None:
            raise error

    def kept_by(self, function: Callable[..., Any], zeros: Sequence[np.ndarray[Any, Any]]) -> Callable[..., Any]:
        """Return the function, which keeps what it raises here and returns those zeros instead."""

        def call(*operands: Any) -> Any:
            if any(self._errors.values()):
                return tuple(zeros)
            try:
                return function(*operands)
            except BaseException as error:
                with self._lock:
                    self._errors.update((number, error) for number, known in self._errors.items() if known is None)
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

    What it gives beyond the results that ``handlers`` are for is the token that the calls pass on. It has a handler,
    too: for a function in its place jaxlib would import jax where that is installed.
    """
    if failure is not None:
        with failure.awaited():
            return run_and_wait(executable, arguments, handlers, token_handler)
    try:
        results = executable.execute_sharded(arguments, with_tokens=True)
        done = results.consume_token()
        tokens = [token_handler] * (len(results) - len(handlers))
        arrays = list(results.consume_with_handlers([*handlers, *tokens]))
        done.block_until_ready()
        return arrays[: len(handlers)]
    except _jax.JaxRuntimeError as error:
        raised = _raised(error)
        if raised is None:
            raise
    raise raised  # not in the handler: XLA's error would be shown as its context


def _raised(error: Exception) -> BaseException | None:
    """The exception of a callback that an error of XLA's tells about."""
    found = _MARK.search(str(error))
    if found is None:
        return KeyboardInterrupt() if _INTERRUPTED.search(str(error)) else None
    with _lock:
        return _failures.pop(int(found.group(1)), None)
