import itertools
import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlascope import records
from xlascope.records import (
    Equation,
    EquationPath,
    Executed,
    Explained,
    FusionDecision,
    Jaxpr,
    Pass,
    Passes,
    Record,
    Started,
    Traced,
    Variable,
    from_json,
    load,
    save,
    to_json,
)

STARTED = Started(program=1, function="update", stage="trace", time=0.5)

variables = st.dictionaries(
    st.text(), st.builds(Variable, name=st.text(), shape=st.lists(st.integers(0, 99)).map(tuple), dtype=st.text())
)
floats = st.floats(allow_nan=False)


def jaxprs(equations: st.SearchStrategy[tuple[Equation, ...]]) -> st.SearchStrategy[Jaxpr]:
    names = st.lists(st.text(), max_size=3).map(tuple)
    return st.builds(Jaxpr, st.text(), names, names, names, variables, equations)


def equations(bodies: st.SearchStrategy[Jaxpr]) -> st.SearchStrategy[tuple[Equation, ...]]:
    one = st.builds(Equation, bodies=st.lists(bodies, max_size=2).map(tuple))
    return st.lists(one, max_size=2).map(tuple)


nested = st.recursive(jaxprs(st.just(())), lambda bodies: jaxprs(equations(bodies)), max_leaves=4)
numbers = st.lists(st.integers(0, 30), min_size=1, max_size=3)
st.register_type_strategy(EquationPath, numbers.map(lambda some: EquationPath("/".join(map(str, some)))))
st.register_type_strategy(Jaxpr, nested)
st.register_type_strategy(float, floats)
any_record: st.SearchStrategy[Record] = st.one_of(*map(st.from_type, get_args(Record)))


@given(any_record)
def test_a_record_survives_json(record: Record) -> None:
    assert from_json(json.loads(json.dumps(to_json(record)))) == record


@given(st.lists(any_record, max_size=5))
def test_records_survive_a_file(tmp_path_factory: pytest.TempPathFactory, some: list[Record]) -> None:
    file = tmp_path_factory.mktemp("records") / "some.json"
    save(some, file)
    assert load(file) == tuple(some)


DECISION = FusionDecision(0, "InstructionFusion", "refused", "bitcast", "exp", "", "never")


@pytest.mark.parametrize(
    "record",
    [
        Explained(1, "f", 0.0, 0.5, "cpu", "the whole program", "HloModule f", (DECISION,), True, edge=("0", "1")),
        Passes(1, "f", 0.0, 0.5, "cpu", "f", "", (Pass(3, "dce", "all", 5, 0, 1, 0, "-x", ("3",)),), True),
    ],
)
def test_what_a_compiler_says_survives_json(record: Record) -> None:
    assert from_json(json.loads(json.dumps(to_json(record)))) == record


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_json_lacks(value: float, tmp_path: Path) -> None:
    save([Started(1, "f", "run", value)], tmp_path / "r.json")
    json.loads((tmp_path / "r.json").read_text(), parse_constant=pytest.fail)
    (restored,) = load(tmp_path / "r.json")
    assert repr(restored.time) == repr(value)


def test_no_record_has_a_field_called_kind() -> None:
    assert all("kind" not in each.__dataclass_fields__ for each in get_args(Record))


def test_save_leaves_no_draft_and_replaces_whole(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    save([STARTED], file)
    with pytest.raises(TypeError):
        save([STARTED, Started(1, object(), "trace", 0.0)], file)  # type: ignore[arg-type]
    assert load(str(file)) == (STARTED,)
    assert os.listdir(tmp_path) == ["r.json"]


def test_save_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "r.json")
    save([STARTED], tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load(tmp_path / "r.json") == (STARTED,)


def test_a_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no JSON, or only a part of it"),
        (b"\xff\xfe\x00", "no JSON, or only a part of it"),
        (b'{"xlascope_records": 1, "records": [', "no JSON, or only a part of it"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "no xlascope records"),
        (b'{"records": []}', "no xlascope records"),
        (b'{"xlascope_records": 2, "records": []}', "records of version 2; this xlascope reads version 1"),
        (b'{"xlascope_records": "1"}', "records of version '1'; this xlascope reads version 1"),
        (b'{"xlascope_records": true}', "records of version True; this xlascope reads version 1"),
        (b'{"xlascope_records": 1}', "expected list, found None"),
        (b'{"xlascope_records": 1, "records": [3]}', "expected dict, found 3"),
        (b'{"xlascope_records": 1, "records": [{"kind": []}]}', r"no record of kind \[\]"),
    ],
)
def test_a_damaged_file_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "damaged.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "Elephant"}, "no record of kind 'Elephant'; there are Started, Traced"),
        ({"program": True}, "Started.program: expected int, found True"),
        ({"program": 1.5}, "Started.program: expected int, found 1.5"),
        ({"stage": "dance"}, "Started.stage: expected one of 'trace', 'lower', 'compile', 'run', found 'dance'"),
        ({"time": "soon"}, "Started.time: expected float, found 'soon'"),
        ({"colour": "red"}, "Started has no field 'colour'"),
    ],
)
def test_a_damaged_record_says_where(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json({**to_json(STARTED), **change})


def test_a_damaged_part_says_where() -> None:
    executed = Executed(1, "f", 0.0, 1, 1.0, 1.0, 1, 1.0, (records.DeviceTime("cpu:0", 1.0, (), ()),))
    data = to_json(executed)
    del data["devices"][0]["busy"]
    with pytest.raises(ValueError, match=r"Executed.devices: DeviceTime.busy: missing"):
        from_json(data)


def test_defaults_may_be_absent() -> None:
    jaxpr = Jaxpr("f", (), (), (), {}, ())
    data = to_json(Traced(1, "f", 0.0, 0.0, jaxpr, "", "first call"))
    del data["sources"], data["call_site"]
    restored = from_json(data)
    assert isinstance(restored, Traced)
    assert (restored.sources, restored.call_site) == ((), None)


def test_a_file_saved_in_november_2026_is_read_and_saved_as_it_was() -> None:
    """It was written before internal names changed; the form of files must not follow them."""
    file = Path(__file__).parents[2] / "data/saved_2026_11.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    restored = load(file)
    kinds = {type(record).__name__ for record in restored}
    assert kinds == {"Compiled", "Executed", "Lowered", "ScriptRun", "Traced"}
    for record, was in zip(restored, saved["records"], strict=True):
        assert without_newer_fields(to_json(record), was) == was


def without_newer_fields(data: Any, was: Any) -> Any:
    """JSON without the fields that another version of it lacks, which have to be without a value."""
    if isinstance(data, list) and isinstance(was, list):
        return [without_newer_fields(*pair) for pair in itertools.zip_longest(data, was)]
    if not (isinstance(data, dict) and isinstance(was, dict)):
        return data
    assert not any(data[name] for name in data.keys() - was.keys()), "fields that are newer have no value"
    return {name: without_newer_fields(data[name], was[name]) for name in data if name in was}
