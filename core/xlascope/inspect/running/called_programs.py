"""Which program of a function its calls ran, as far as the arguments of some of them tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator


class CalledPrograms:
    """Programs that the calls of one function ran, by the number of the call: calls in C++ are numbered from 1 on.

    Some calls are noted, with their programs. Those between are of the same program; where the next noted call is of
    another one, half of them are.
    """

    def __init__(self) -> None:
        #: The number of a call, and the program that runs from it on.
        self._changes: list[tuple[int, int]] = []
        self._noted: Counter[int] = Counter()
        self._latest = self._turns = 0
        self._has_gaps = False

    def note(self, number: int, program: int) -> None:
        """Note that a call ran a program."""
        if self._changes and number < self._changes[-1][0]:
            return  # calls of several threads
        begin = number
        if self._changes and self._changes[-1][1] != program:
            self._turns += 1
            self._has_gaps = self._has_gaps or number > self._latest + 1
            begin = (self._latest + 1 + number) // 2
        self._change(begin, program)
        self._noted[program] += 1
        self._latest = number

    def start(self, calls: int, program: int) -> None:
        """Note that a program was called through Python after so many calls: those that follow run it as well."""
        self._change(calls + 1, program)
        self._latest = calls

    def _change(self, number: int, program: int) -> None:
        if self._changes and self._changes[-1][0] >= number:
            self._changes.pop()
        if not self._changes or self._changes[-1][1] != program:
            self._changes.append((number, program))

    def is_known(self, number: int) -> bool:
        """Return whether the program of a call is known."""
        return bool(self._changes) and number >= self._changes[0][0]

    def is_uncertain(self, calls: int) -> bool:
        """Return whether it is uncertain which programs so many calls ran: not all that change programs are noted."""
        return (self._has_gaps or self._turns > 1) and calls > self._noted.total()

    @property
    def is_alternating(self) -> bool:
        """Return whether programs are called by turns."""
        return self._turns > 1

    def divide(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the programs that the calls from the first number to the last one ran, and how many each."""
        ends = [number for number, _ in self._changes[1:]]
        for (begin, program), end in zip(self._changes, [*ends, last + 1], strict=True):
            calls = min(end - 1, last) - max(begin, first) + 1
            if calls > 0:
                yield program, calls

    def noted_calls(self) -> Counter[int]:
        """Return how many calls of each program were noted."""
        return self._noted
