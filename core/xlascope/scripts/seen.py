"""What was seen of a script so far, of bounded size however long it runs: every program's times, the largest whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from ..records.events import Compiled, Failure, Lowered, Record, Started, Traced
from ..records.script import Share
from ..records.stages import Stages
from ..records.store import text_of
from .held import Held
from .stretches import Stretches

#: Programs whose times are remembered one by one, and of these those that are remembered whole: so many, of so many
#: characters. Of more, those with least time are forgotten.
MOST_PROGRAMS, MOST_WHOLE, MOST_SIZE = 2_000, 200, 400_000_000
#: Programs that are written whole: so many, and no more than so many characters of them.
MOST_KEPT, MOST_TEXT = 40, 150_000_000
#: Programs in the table, and those told of for something beside their times.
MOST_SHARES, MOST_TOLD = 60, 150
#: The newest are not forgotten: their time is to come.
NEWEST = 50
MOST_FAILURES = 20


class Seen:
    """The programs of a script by number; safe to use from any thread, and from a signal's handler."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._programs: dict[int, Held] = {}
        self._forgotten: set[int] = set()
        self._gone = Share(None, "", 0, 0.0, 0.0, programs=0, kept=False)
        self._making = Stretches()
        self._failures: list[Failure] = []
        self._texts: dict[int, tuple[Record, str]] = {}
        self._active: dict[int, Started] = {}

    def receive(self, record: Record) -> None:
        """Take in a record."""
        with self._lock:
            number = record.program
            if number is None:
                if isinstance(record, Failure) and len(self._failures) < MOST_FAILURES:
                    self._failures.append(record)
                return
            if isinstance(record, Started):
                self._active[threading.get_ident()] = record
                return
            self._active.pop(threading.get_ident(), None)
            if number in self._forgotten:
                return
            held = self._programs.setdefault(number, Held(number, record.function))
            if held.receive(record) and isinstance(record, Traced | Lowered | Compiled):
                self._making.add(record.time, record.seconds)
            if isinstance(record, Traced | Compiled):
                self._forget()

    def _forget(self) -> None:
        whole = [held for held in self._programs.values() if held.whole]
        if len(whole) > MOST_WHOLE or sum(held.size for held in whole) > MOST_SIZE:
            for held in _least(whole):
                held.forget()
        if len(self._programs) > MOST_PROGRAMS:
            for held in _least([each for each in self._programs.values() if not each.is_told_again]):
                self._forgotten.add(held.number)
                self._gone = _with(self._gone, self._programs.pop(held.number))

    # What is told of it ----------------------------------------------------------------------------------------------

    @property
    def programs(self) -> int:
        """How many programs there were."""
        return len(self._programs) + len(self._forgotten)

    @property
    def making(self) -> float:
        """Seconds during which something was traced, lowered or compiled."""
        with self._lock:
            return self._making.seconds

    @property
    def failed(self) -> frozenset[str]:
        """The names of the errors that were told of."""
        with self._lock:
            own = (failure for held in self._programs.values() for failure in held.failures)
            return frozenset(each.error for each in (*own, *self._failures))

    @property
    def active(self) -> Started | None:
        """A stage that goes on now: the one that began last."""
        with self._lock:
            return max(self._active.values(), key=lambda each: each.time, default=None)

    @property
    def main(self) -> Held | None:
        """The program with most time."""
        with self._lock:
            return max(self._programs.values(), key=lambda held: held.seconds, default=None)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that programs were compiled for."""
        with self._lock:
            compiled = (record for held in self._programs.values() for record in held.stages.compilations.values())
            return tuple(dict.fromkeys(device for record in compiled for device in record.devices))

    def told_again(self) -> list[Record]:
        """Return the records, without programs, of what failed or was traced again, in their order of appearance."""
        with self._lock:
            return [record for held in self._programs.values() if held.is_told_again for record in _reasons(held)]

    def written(self) -> tuple[tuple[Share, ...], list[str]]:
        """The table of programs, and the records that are kept, as JSON text."""
        with self._lock:
            ranked = sorted(self._programs.values(), key=lambda held: held.seconds, reverse=True)
            kept, texts = self._kept(ranked)
            rest = self._gone
            for held in ranked[MOST_SHARES:]:
                rest = _with(rest, held)
            shares = [held.share(held.number in kept) for held in ranked[:MOST_SHARES]]
            return (*shares, *([rest] if rest.programs else [])), texts

    def _kept(self, ranked: list[Held]) -> tuple[set[int], list[str]]:
        """The numbers of the programs that are written whole, and the texts of all records that are written."""
        kept: set[int] = set()
        by_number: dict[int, list[str]] = {}
        size = 0
        for held in [each for each in ranked if each.whole][:MOST_KEPT]:
            texts = [self._text(record) for record in held.records()]
            size += sum(map(len, texts))
            if size > MOST_TEXT and kept:
                break
            kept.add(held.number)
            by_number[held.number] = texts
        told = [held for held in ranked if held.is_told_again and held.number not in kept]
        for held in told[:MOST_TOLD]:
            by_number[held.number] = [text_of(record) for record in _reasons(held)]
        # In their order of appearance: a trace is compared with earlier ones.
        texts = [text for number in self._programs for text in by_number.get(number, ())]
        self._texts = {key: value for key, value in self._texts.items() if value[0].program in kept}
        return kept, [*texts, *map(text_of, self._failures)]

    def _text(self, record: Record) -> str:
        """The text of a record; of one that is large and does not change made once."""
        if not isinstance(record, Traced | Compiled):
            return text_of(record)
        known = self._texts.get(id(record))
        if known is None or known[0] is not record:
            known = self._texts[id(record)] = record, text_of(record)
        return known[1]


def _least(programs: list[Held]) -> list[Held]:
    """Half of these programs: those with least time, without the newest."""
    newest = {held.number for held in programs[-NEWEST:]}
    ranked = sorted(programs, key=lambda held: held.seconds)
    return [held for held in ranked[: len(ranked) // 2] if held.number not in newest]


def _with(rest: Share, held: Held) -> Share:
    """The line of many small programs, with one more."""
    one = held.share(kept=False)
    return Share(
        None,
        "",
        rest.calls + one.calls,
        rest.running + one.running,
        rest.made + one.made,
        rest.programs + 1,
        kept=False,
    )


def _reasons(held: Held) -> Iterator[Record]:
    """What is told of a program that is not kept."""
    held_light = Held(held.number, held.function)
    made = (each for each in held.stages.records() if isinstance(each, Traced | Lowered | Compiled))
    held_light.stages = Stages.of(made)
    held_light.missed, held_light.failures = held.missed, held.failures
    held_light.forget()
    return held_light.records()
