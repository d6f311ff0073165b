"""What is remembered of a script is bounded, and says what was left out."""

import json
from typing import Any

import pytest

from xlascope.records import Compiled, Executed, Failure, Jaxpr, Record, Started, Traced, from_json
from xlascope.scripts import recorder as bounds
from xlascope.scripts.durations import parse_duration
from xlascope.scripts.intervals import MAX_INTERVALS, IntervalUnion
from xlascope.scripts.output_files import OutputFiles
from xlascope.scripts.progress import Progress, format_progress
from xlascope.scripts.recorder import ScriptRecorder
from xlascope.scripts.run_info import RunInfo, find_rank


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


def told(seen: ScriptRecorder) -> tuple[Any, list[Record]]:
    shares, texts = seen.snapshot()
    return shares, [from_json(json.loads(each)) for each in texts]


def test_a_long_script_of_many_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "MAX_PROGRAMS": 300,
        "MAX_COMPLETE_PROGRAMS": 100,
        "MAX_SHARES": 20,
        "MAX_STORED_PROGRAMS": 10,
        "PROTECTED_PROGRAM_COUNT": 5,
    }.items():
        monkeypatch.setattr(bounds, name, value)
    seen = ScriptRecorder()
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
    assert seen.program_count == 2_000 and len(seen._programs) <= 300
    assert sum(each.is_complete for each in seen._programs.values()) <= 100


def test_what_is_small_is_told_where_it_was_slow_or_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_STORED_PROGRAMS", 1)
    seen = ScriptRecorder()
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
    assert seen.error_names == {"TypeError"}


def test_programs_of_much_text_are_kept_as_far_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_STORED_CHARS", 50_000)
    seen = ScriptRecorder()
    for number in (1, 2, 3):
        seen.receive(traced(number, 10.0 / number))
        seen.receive(compiled(number, "x" * 30_000))
    shares, found = told(seen)
    assert [each.kept for each in shares] == [True, False, False]
    assert {each.program for each in found} == {1}


def test_a_record_that_does_not_change_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Record] = []
    monkeypatch.setattr(bounds, "text_of", lambda record: made.append(record) or "{}")
    seen = ScriptRecorder()
    for record in (traced(1, 1.0), compiled(1), ran(1, 3, 0.1)):
        seen.receive(record)
    seen.snapshot()
    seen.receive(ran(1, 9, 0.1))
    seen.snapshot()
    assert [type(each).__name__ for each in made] == ["Traced", "Compiled", "Executed", "Executed"]


def test_time_is_counted_once() -> None:
    covered = IntervalUnion()
    for number in range(3 * MAX_INTERVALS):
        covered.add(number, 0.25)
        covered.add(number + 0.5, 0.25)
    assert covered.seconds == pytest.approx(1.5 * MAX_INTERVALS) and len(covered._intervals) <= MAX_INTERVALS
    covered.add(2_500.0, 1_000.0)
    assert covered.seconds == pytest.approx(2_500 / 2 + 1_000)


def test_the_line_says_what_goes_on() -> None:
    seen = ScriptRecorder()
    seen.receive(traced(1, 2.0))
    seen.receive(ran(1, 1_200, 0.0112))
    seen.receive(Started(2, "loss\x1b[2J", "compile", 0.0))
    expected = (
        "xlascope 1:01:05: 1 program · 2.0 s compile time · compiling loss�[2J · f1 ran 1,200 times, 11.2 ms each"
    )
    assert format_progress(seen, 3665.0) == expected


class Closed:
    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        raise BrokenPipeError

    def flush(self) -> None: ...


def test_nobody_who_reads_is_no_error() -> None:
    progress = Progress(ScriptRecorder(), stream=Closed())  # type: ignore[arg-type]
    progress.tick(1.0)
    progress.print_message("done")


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
    found = OutputFiles.from_name(output, "train.py", None)
    assert (found.json.name, found.html.name) == names and found.json.is_absolute()
    assert OutputFiles.from_name(output, "train.py", (2, 4)).json.name == names[0].replace(".json", ".2.json")


@pytest.mark.parametrize("text", ["", "s", "5 days", "-3s", "0.1s", "nan"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"examples|at least"):
        parse_duration(text)


def test_ranks() -> None:
    assert find_rank({"RANK": "1", "WORLD_SIZE": "2"}) == (1, 2)
    assert find_rank({"RANK": "0", "WORLD_SIZE": "1"}) is find_rank({"RANK": "x", "WORLD_SIZE": "2"}) is None


def test_a_run_ends_once() -> None:
    about = RunInfo("train.py", ("python", "train.py"))
    about.end()
    seconds = about.seconds
    about.end()
    assert about.seconds == seconds and about.build_record(ScriptRecorder(), "ended")[0].shares == ()
