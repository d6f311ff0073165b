"""What jax answered is kept in the repository as it was answered, and given while what it was made from stays."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests import answers, kept_answers, oracle

ANSWER = {
    "nothing": None,
    "words": ["a", b"\xff", True, 3, 2.5, float("inf"), 1 - 2j],
    ("key", 1): {2: (), "set": {3, 1}},
    "arrays": (np.arange(6, dtype=np.int8).reshape(2, 3), np.zeros((0, 3), np.float16), np.array(["ab", "c"])),
    "numbers": [np.float32(-0.0), np.array(2.0, ml_dtypes.bfloat16), ml_dtypes.float8_e4m3fn(1.5), np.complex64(1j)],
    "objects": np.array([slice(1, None, 2), "a"], object),
    "types": [np.dtype("int4"), np.dtype("float32")],
}


def test_an_answer_is_read_as_it_was_written(tmp_path):
    kept_answers.write(tmp_path / "answer.npz", ANSWER, sources={})
    read = kept_answers.read(tmp_path / "answer.npz")
    assert not list(answers.differences(read["answer"], ANSWER))
    assert json.dumps(read["sources"]) == "{}"
    assert np.signbit(read["answer"]["numbers"][0])


@pytest.mark.parametrize("value", [object(), [np.array([len])], {"function": len}], ids=["object", "array", "function"])
def test_what_no_file_of_arrays_holds_is_not_kept(value, tmp_path):
    with pytest.raises(kept_answers.UnknownKindError):
        kept_answers.write(tmp_path / "answer.npz", value)
    assert not list(tmp_path.iterdir())


CHANGES = {
    "last places": ({"nothing": 0}, {"nothing": None}),
    "a number": ([np.float32(1.0)], [np.float32(1.001)]),
    "a zero's sign": ([np.float32(0.0)], [np.float32(-0.0)]),
    "a type": (np.float32(1.0), np.float64(1.0)),
    "a text": (["f32[]"], ["f32[1]"]),
    "a key": ({"a": 1}, {"b": 1}),
    "a length": ([1], [1, 2]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_answer_is_noticed(change):
    assert list(answers.differences(*CHANGES[change]))


def test_the_order_of_a_set_in_a_message_is_no_difference():
    assert not list(answers.differences(["one of {'a', 'b'}"], ["one of {'b', 'a'}"]))


def test_the_kept_answers_are_of_the_programs_that_are_here():
    assert answers.out_of_date() == [], "run `make answers`: what these were made from has changed"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A file of programs of its own, with the repository around it."""
    programs = tmp_path / "tests" / "own_programs.py"
    programs.parent.mkdir()
    programs.write_text("def three(library): return 3\n")
    for module, name, value in ((oracle, "ROOT", tmp_path), (oracle, "FOLDER", tmp_path / "build")):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(oracle, "ASKED", tmp_path / "build" / "asked")
    monkeypatch.setattr(kept_answers, "FOLDER", tmp_path / "kept")
    return programs


def test_jax_is_asked_for_what_is_not_kept_and_when_ci_says_so(place, monkeypatch):
    said = iter(range(9))
    monkeypatch.setattr(oracle, "asked", lambda *question: (next(said), [str(place)]))

    def ask(how: str) -> int:
        monkeypatch.setattr(oracle, "HOW", how)
        for kept in oracle.FOLDER.glob("*.pickle"):
            kept.unlink()  # as in a clean clone
        return oracle.ask(place, "three", {})

    assert [ask(""), ask("keep"), ask(""), ask("leave"), ask("")] == [0, 1, 1, 2, 1]
    assert answers.out_of_date() == []
    place.write_text("def three(library): return 4\n")
    assert len(answers.out_of_date()) == 1
    assert [ask(""), ask("keep"), ask("")] == [3, 4, 4]
    assert answers.tidy().startswith("1 answers")


def test_ci_asks_some_of_the_kept_questions_again(root):
    steps = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert "-m tests.answers compare" in steps and "XLASCOPE_TESTS_ANSWERS" not in steps
