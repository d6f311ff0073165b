"""What is made of records of functions that were traced again: pure data, no engine."""

import json

import pytest

from xlascope.analysis.retraces import MAX_FUNCTIONS, MAX_RETRACES, Retraces, retraces_json, retraces_text
from xlascope.records import Compiled, Jaxpr, Lowered, Missed, SourceRange, Traced

EMPTY = Jaxpr("f", (), (), (), {}, ())
SITE = SourceRange("/home/me/train.py", 7, 0, 7, 9, "<module>")
SHAPES = "x: f32[2] → f32[3]"


def traced(program, function="update", time=None, seconds=0.25, reason=SHAPES, fix="Pad.", site=SITE):
    return Traced(
        program, function, float(program) if time is None else time, seconds, EMPTY, "", reason, site, (), fix
    )


def lowered(program, seconds=0.5):
    return Lowered(program, "update", 0.0, seconds, 3)


def compiled(program, seconds=1.0):
    return Compiled(program, "update", 0.0, seconds, "miss", "cpu", (), "jit_f", (), "")


def first(program, function="update", **more):
    return traced(program, function, reason="first call", fix="", **more)


def missed(reason="x: a NumPy array → an array", fix="Pass one kind."):
    return Missed(1, "update", 0.0, reason, fix, SITE)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([first(1), lowered(1), compiled(1)], [], id="a first call is no retrace"),
        pytest.param([traced(1, fix="", reason="run outside of jit", seconds=0.0)], [], id="a single operation"),
        pytest.param(
            [first(1), lowered(1), compiled(1), traced(2), lowered(2), compiled(2)], [("update", 1, 1.75)], id="one"
        ),
        pytest.param([traced(2), lowered(3), compiled(4)], [("update", 1, 0.25)], id="others' stages are not counted"),
        pytest.param(
            [traced(1, "f"), compiled(1), traced(2, "g"), traced(3, "g")], [("f", 1, 1.25), ("g", 2, 0.5)], id="dearest"
        ),
        pytest.param(
            [
                traced(1, "<lambda>", site=SITE),
                traced(2, "<lambda>", site=SourceRange("b.py", 1, 0, 1, 1, "g")),
            ],
            [("<lambda>", 1, 0.25), ("<lambda>", 1, 0.25)],
            id="anonymous functions are told apart by their line",
        ),
        pytest.param([missed(), missed()], [("update", 0, 0.0)], id="slow calls"),
        pytest.param([missed(fix="")], [], id="a slow call that nothing would spare"),
    ],
)
def test_functions(records, expected):
    found = Retraces.of(records).by_cost()
    assert [(each.function, each.count, pytest.approx(each.seconds)) for each in found] == expected


def test_one_inside_of_another_is_a_part_of_it():
    inner, outer = traced(2, "inner", time=10.1, seconds=0.1), traced(1, "outer", time=10.0, seconds=0.5)
    by_name = {each.function: each for each in Retraces.of([inner, outer]).by_cost()}
    assert by_name["inner"].retraces[0].inside == "outer" and by_name["inner"].seconds == pytest.approx(0)
    assert by_name["outer"].retraces[0].inside == "" and by_name["outer"].seconds == pytest.approx(0.5)
    assert "inner: traced again 1 time, inside of the traces of outer" in retraces_text(by_name.values())


def test_one_before_another_is_none_of_it():
    earlier, later = traced(1, "f", time=1.0), traced(2, "g", time=10.0)
    assert not any(one.inside for each in Retraces.of([earlier, later]).by_cost() for one in each.retraces)


def test_newest_first_with_place_difference_fix_and_cost():
    records = [first(1), traced(2), lowered(2), compiled(2), traced(3, reason="x: f32[3] → f32[4]"), missed(), missed()]
    assert retraces_text(Retraces.of(records).by_cost()).splitlines() == [
        "update: traced again 2 times, 2 s lost (measured); 2 calls started slowly "
        "(Python looked at their arguments again: about 0.1 ms a call, estimated)",
        "  trace 3   train.py:7   x: f32[3] → f32[4]",
        "     fix: Pad.",
        "     250 ms = trace 250 ms",
        "  trace 2   train.py:7   x: f32[2] → f32[3]",
        "     fix: Pad.",
        "     1.75 s = trace 250 ms + lower 500 ms + compile 1 s",
        "  train.py:7   x: a NumPy array → an array (2 times)",
        "     fix: Pass one kind.",
    ]


def test_bounded_but_counted():
    gathered = Retraces()
    for program in range(10_000):
        gathered.receive(traced(program, time=float(program)))
        gathered.receive(compiled(program))
    (update,) = gathered.by_cost()
    assert (update.count, len(update.retraces)) == (10_000, MAX_RETRACES)
    assert update.seconds == pytest.approx(12_500)
    for number in range(1000):
        gathered.receive(traced(20_000 + number, f"f{number}"))
    assert len(gathered.functions) == MAX_FUNCTIONS
    told = retraces_json(gathered.by_cost()[:1], most=8)
    assert len(told[0]["retraces"]) == 8 and json.loads(json.dumps(told)) == told
