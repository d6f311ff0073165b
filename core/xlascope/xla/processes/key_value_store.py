"""Key-value store of the coordination service: values that processes leave for each other.

Every wait is cut into short ones, so that an interrupt and the failure of another process end it.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...errors import DistributedError
from ...runtime.errors import JaxRuntimeError
from .failure_state import require_healthy

#: Longest uninterrupted wait for a key.
_MAX_WAIT_MILLISECONDS = 200
#: Round trips of a gathering that are not deleted yet: others may still read those of the last one.
_LIVE_ROUNDS_COUNT = 2


class KeyValueStore:
    """Store that ``client``, jaxlib's client of the coordination service, reaches; keys are relative to ``xlascope``.

    ``process_id`` is the number of this process.
    """

    def __init__(self, client: Any, process_id: int) -> None:
        self._client, self._process_id = client, process_id
        self._rounds: dict[tuple[str, tuple[int, ...]], int] = {}
        self._lock = threading.Lock()

    def write(self, key: str, value: str, *, overwrite: bool = False) -> bool:
        """Write a value and return True; return False if the key has one already and ``overwrite`` is not set."""
        try:
            self._client.key_value_set(f"xlascope/{key}", value, allow_overwrite=overwrite)
        except JaxRuntimeError as error:
            if "ALREADY_EXISTS" not in str(error):
                raise
            return False
        return True

    def read_folder(self, folder: str) -> dict[str, str]:
        """Return the values of all keys below a folder, by the rest of their names."""
        prefix = f"xlascope/{folder}/"
        return {key.removeprefix(prefix): value for key, value in self._client.key_value_dir_get(prefix)}

    def wait_for(self, key: str, deadline: float, check: Callable[[], object] = lambda: None) -> str | None:
        """Return the value of a key as soon as it has one, None if it has none at ``deadline`` (monotonic seconds).

        Raises the error of a failure of the coordinator or of another process, and what ``check()`` raises, which is
        called every now and then.
        """
        while True:
            require_healthy()
            check()
            remaining = int((deadline - time.monotonic()) * 1000)
            try:
                value: str = self._client.blocking_key_value_get(
                    f"xlascope/{key}", max(1, min(_MAX_WAIT_MILLISECONDS, remaining))
                )
            except JaxRuntimeError as error:
                if not any(code in str(error) for code in ("DEADLINE_EXCEEDED", "NOT_FOUND")):
                    raise
                if remaining <= 0:
                    return None
            else:
                return value

    def gather(
        self,
        name: str,
        value: str,
        processes: Sequence[int],
        seconds: float,
        check: Callable[[int], object] = lambda process: None,
    ) -> dict[int, str]:
        """Leave a value for the other ``processes`` and return theirs, by their numbers.

        All of them have to call it equally often with the same ``name``. While this waits for a process,
        ``check(process)`` is called every now and then. Raises MissingProcessesError when some processes have not come
        after that many seconds.
        """
        group = name, tuple(processes)
        with self._lock:
            number = self._rounds[group] = self._rounds.get(group, -1) + 1
        folder = f"rounds/{name}/{'-'.join(map(str, processes))}"
        self.write(f"{folder}/{number}/{self._process_id}", value)
        deadline = time.monotonic() + seconds
        values = {
            process: self.wait_for(f"{folder}/{number}/{process}", deadline, functools.partial(check, process))
            for process in processes
        }
        missing = [process for process, text in values.items() if text is None]
        if missing:
            raise MissingProcessesError(missing, seconds)
        if number >= _LIVE_ROUNDS_COUNT:  # whoever is in this round has read all of the round before the last
            self._client.key_value_delete(f"xlascope/{folder}/{number - _LIVE_ROUNDS_COUNT}/{self._process_id}")
        return {process: text for process, text in values.items() if text is not None}


class MissingProcessesError(DistributedError):
    """Error for processes that did not come to a meeting in time; ``processes`` are their numbers."""

    def __init__(self, processes: Sequence[int], seconds: float) -> None:
        self.processes = tuple(processes)
        super().__init__(f"{format_processes(processes)} did not come within {seconds:g} s")


def format_processes(processes: Sequence[int]) -> str:
    """Return numbers of processes as text.

    >>> format_processes([1]), format_processes([0, 2, 3])
    ('process 1', 'processes 0, 2 and 3')
    """
    names = list(_shorten(processes))
    if len(names) == 1:
        return f"process {names[0]}"
    return f"processes {', '.join(names[:-1])} and {names[-1]}"


def _shorten(processes: Sequence[int]) -> Iterator[str]:
    most = 8
    yield from map(str, processes[:most])
    if len(processes) > most:
        yield f"{len(processes) - most} more"
