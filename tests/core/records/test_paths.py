"""The path of an equation: read, taken apart, put together, and in the order of the program."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlascope.records import EquationPath, Jaxpr, Traced, from_json, to_json
from xlascope.records.paths import PROGRAM, Step

steps = st.lists(st.builds(Step, st.integers(0, 3), st.integers(0, 20)), min_size=1, max_size=5).map(tuple)


def path_of(some: tuple[Step, ...]) -> EquationPath:
    path = PROGRAM
    for body, number in some:
        path = path.child(number, body)
    return path


@pytest.mark.parametrize(
    ("text", "expected", "parent"),
    [
        ("0", ((0, 0),), ""),
        ("12", ((0, 12),), ""),
        ("12/4", ((0, 12), (0, 4)), "12"),
        ("12/1.4", ((0, 12), (1, 4)), "12"),
        ("12/1.4/0", ((0, 12), (1, 4), (0, 0)), "12/1.4"),
        ("1.4", ((1, 4),), ""),  # relative to the equation that holds it
    ],
)
def test_a_path_is_its_steps(text: str, expected: tuple[tuple[int, int], ...], parent: str) -> None:
    path = EquationPath.parse(text)
    assert (path, path.steps, path.parent) == (text, expected, parent)
    assert isinstance(path.parent, EquationPath)


@pytest.mark.parametrize(
    "text",
    ["", "/", "3/", "/3", "3//4", "03", "3/04", "0.3", "3/0.4", "1.2.3", ".3", "3.", "-1", "e3", "3 ", "3\n", "٣"],
)
def test_a_text_that_is_no_path_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no path of an equation; paths look like 3, 12/4 or 12/1\.0") as caught:
        EquationPath.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("inner", "outer", "relative"),
    [
        ("12/4", "12", "4"),
        ("12/1.4/0", "12", "1.4/0"),
        ("12/1.4/0", "12/1.4", "0"),
        ("12/4", "", "12/4"),
        ("12", "12", None),
        ("12", "1", None),
        ("1", "12", None),
        ("", "", None),
    ],
)
def test_within_and_relative_to(inner: str, outer: str, relative: str | None) -> None:
    path = EquationPath(inner)
    assert path.within(outer) is (relative is not None)
    if relative is None:
        with pytest.raises(ValueError, match="does not hold equation"):
            path.relative_to(outer)
    else:
        assert path.relative_to(outer) == relative


@given(st.lists(steps))
def test_paths_are_in_the_order_of_the_program(some: list[tuple[Step, ...]]) -> None:
    assert sorted(map(path_of, some)) == list(map(path_of, sorted(some)))


@given(steps)
def test_a_path_survives_its_text_and_its_steps(some: tuple[Step, ...]) -> None:
    path = path_of(some)
    assert EquationPath.parse(path).steps == some
    assert path.parent.child(some[-1].number, some[-1].body) == path
    assert all(path.within(path_of(some[:depth])) for depth in range(len(some)))


@given(steps, steps)
def test_comparisons_agree(one: tuple[Step, ...], other: tuple[Step, ...]) -> None:
    a, b = path_of(one), path_of(other)
    assert (a < b, a <= b, a > b, a >= b, a == b) == (
        one < other,
        one <= other,
        one > other,
        one >= other,
        one == other,
    )


def test_a_path_is_a_text_for_everybody_else() -> None:
    path = EquationPath("12/4")
    assert {path: 1}["12/4"] == 1 and hash(path) == hash("12/4") and json.dumps([path]) == '["12/4"]'
    copied = pickle.loads(pickle.dumps(path))
    assert (copied, type(copied)) == (path, EquationPath)


def test_a_path_in_a_file_is_a_path_again() -> None:
    data = {"path": "10", "operation": "sin", "parameters": "", "inputs": [], "outputs": [], "transposes": "9/1.0"}
    record = to_json(Traced(1, "f", 0.0, 0.0, Jaxpr("f", (), (), (), {}, ()), "", ""))
    record["jaxpr"]["equations"] = [data]
    restored = from_json(record)
    assert isinstance(restored, Traced)
    (equation,) = restored.jaxpr.equations
    assert equation.transposes is not None and equation.transposes < equation.path
    data["path"] = "over there"
    with pytest.raises(ValueError, match=r"Equation.path: 'over there' is no path of an equation"):
        from_json(record)
