"""What is remembered of a script is bounded, and says what was left out."""

import json
from typing import Any

import pytest

from xlascope.records import Compiled, Executed, Failure, Jaxpr, Record, Started, Traced, from_json
from xlascope.scripts import seen as bounds
from xlascope.scripts.about import About, rank_of
from xlascope.scripts.durations import duration
from xlascope.scripts.files import Files
from xlascope.scripts.progress import Progress, line
from xlascope.scripts.seen import Seen
from xlascope.scripts.stretches import MOST, Stretches


def traced(number: int, seconds: float, *, fix: str = "", text: str = "{ lambda ; . let in () }") -> Traced:
    name = f"f{number}"
    jaxpr = Jaxpr(name, (), (), (), {}, ())
    return Traced(
        number, name, float(number), seconds, jaxpr, text, "x: f32[2] → f32[3]" if fix else "first call", fix=fix
    )


def compiled(number: int, hlo: str = "HloModule f") -> Compiled:
    return Compiled(number, f"f{number}", number + 0.5, 0.25, "miss", "cpu", ("cpu:0",), f"jit_f.{number}", (), hlo)


def ran(number: int, calls: int, step: float) -> Executed:
    return Executed(number, f"f{number}", 0.0, calls, 1.0, 0.0, 0, step, ())


def told(seen: Seen) -> tuple[Any, list[Record]]:
    shares, texts = seen.written()
    return shares, [from_json(json.loads(each)) for each in texts]


def test_a_long_script_of_many_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "MOST_PROGRAMS": 300,
        "MOST_WHOLE": 100,
        "MOST_SHARES": 20,
        "MOST_KEPT": 10,
        "NEWEST": 5,
    }.items():
        monkeypatch.setattr(bounds, name, value)
    seen = Seen()
    for number in range(1, 2_001):
        seen.receive(traced(number, 0.001))
        seen.receive(compiled(number))
        if number % 100 == 0:
            seen.receive(ran(number, number, 0.01))
    shares, found = told(seen)
    assert [each.program for each in shares[:20]] == list(range(2_000, 0, -100))
    assert [each.kept for each in shares] == [True] * 10 + [False] * 11
    rest = shares[-1]
    assert rest.program is None and rest.programs == 1_980 and rest.made == pytest.approx(1_980 * 0.251)
    assert {each.program for each in found} == set(range(1_100, 2_001, 100))
    assert seen.programs == 2_000 and len(seen._programs) <= 300
    assert sum(each.whole for each in seen._programs.values()) <= 100


def test_what_is_small_is_told_where_it_was_slow_or_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_KEPT", 1)
    seen = Seen()
    for record in (traced(1, 9.0), traced(2, 0.5, fix="Pad it."), compiled(2), traced(3, 0.1)):
        seen.receive(record)
    seen.receive(Failure(4, "f4", "trace", 0.0, "TypeError", "no"))
    _, found = told(seen)
    assert [(type(each).__name__, each.program) for each in found] == [
        ("Traced", 1),
        ("Traced", 2),
        ("Compiled", 2),
        ("Failure", 4),
    ]
    assert found[1].fix == "Pad it." and not found[1].text and not found[2].hlo  # type: ignore[union-attr]
    assert seen.failed == {"TypeError"}


def test_programs_of_much_text_are_kept_as_far_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_TEXT", 50_000)
    seen = Seen()
    for number in (1, 2, 3):
        seen.receive(traced(number, 10.0 / number))
        seen.receive(compiled(number, "x" * 30_000))
    shares, found = told(seen)
    assert [each.kept for each in shares] == [True, False, False]
    assert {each.program for each in found} == {1}


def test_a_record_that_does_not_change_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Record] = []
    monkeypatch.setattr(bounds, "text_of", lambda record: made.append(record) or "{}")
    seen = Seen()
    for record in (traced(1, 1.0), compiled(1), ran(1, 3, 0.1)):
        seen.receive(record)
    seen.written()
    seen.receive(ran(1, 9, 0.1))
    seen.written()
    assert [type(each).__name__ for each in made] == ["Traced", "Compiled", "Executed", "Executed"]


def test_time_is_counted_once() -> None:
    covered = Stretches()
    for number in range(3 * MOST):
        covered.add(number, 0.25)
        covered.add(number + 0.5, 0.25)
    assert covered.seconds == pytest.approx(1.5 * MOST) and len(covered._kept) <= MOST
    covered.add(2_500.0, 1_000.0)
    assert covered.seconds == pytest.approx(2_500 / 2 + 1_000)


def test_the_line_says_what_goes_on() -> None:
    seen = Seen()
    seen.receive(traced(1, 2.0))
    seen.receive(ran(1, 1_200, 0.0112))
    seen.receive(Started(2, "loss\x1b[2J", "compile", 0.0))
    expected = "xlascope 1:01:05: 1 program · 2.0 s making them · compiling loss�[2J · f1 ran 1,200 times, 11.2 ms each"
    assert line(seen, 3665.0) == expected


class Closed:
    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        raise BrokenPipeError

    def flush(self) -> None: ...


def test_nobody_who_reads_is_no_error() -> None:
    progress = Progress(Seen(), stream=Closed())  # type: ignore[arg-type]
    progress.tick(1.0)
    progress.say("done")


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (None, ("train.xlascope.json", "train.xlascope.html")),
        ("run", ("run.json", "run.html")),
        ("run.html", ("run.json", "run.html")),
        ("run.v2.json", ("run.v2.json", "run.v2.html")),
    ],
)
def test_names_of_files(output: str | None, names: tuple[str, str]) -> None:
    found = Files.named(output, "train.py", None)
    assert (found.json.name, found.html.name) == names and found.json.is_absolute()
    assert Files.named(output, "train.py", (2, 4)).json.name == names[0].replace(".json", ".2.json")


@pytest.mark.parametrize("text", ["", "s", "5 days", "-3s", "0.1s", "nan"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"examples|at least"):
        duration(text)


def test_ranks() -> None:
    assert rank_of({"RANK": "1", "WORLD_SIZE": "2"}) == (1, 2)
    assert rank_of({"RANK": "0", "WORLD_SIZE": "1"}) is rank_of({"RANK": "x", "WORLD_SIZE": "2"}) is None


def test_a_run_ends_once() -> None:
    about = About("train.py", ("python", "train.py"))
    about.end()
    seconds = about.seconds
    about.end()
    assert about.seconds == seconds and about.record(Seen(), "ended")[0].shares == ()
