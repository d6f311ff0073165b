"""`%memory`, and the sources of programs made of several cells."""

import dataclasses
import json
from typing import Any

import pytest

import xlascope as xs
from xlascope import records
from xlascope_ipython.record_cache import RecordCache


def test_memory_says_the_peak_and_what_holds_it(terminal: Any) -> None:
    said = terminal.run("%memory update(w, x)")
    assert "needed at most, while" in said and "held at the peak" in said
    assert "argument" in said and "XLA's own peak" in said


def test_memory_as_json_holds_the_plan(terminal: Any) -> None:
    found = json.loads(terminal.run("%memory --json update(w, x)"))
    (compiled,) = (each for each in found["records"] if each["kind"] == "Compiled")
    kinds = {buffer["kind"] for buffer in compiled["memory"]["buffers"]}
    assert {"argument", "result"} <= kinds


def test_memory_takes_a_call(terminal: Any) -> None:
    assert "%memory takes one call of a function" in terminal.run("%memory 3", fails=True)


def test_sources_of_other_cells_and_of_scope_cells(terminal: Any) -> None:
    terminal.run("def first(x):\n    return jnp.sin(x)")
    terminal.run("%%scope\ndef second(x):\n    return first(x) * 2.0")
    terminal.run("third = lambda x: second(x) + 1.0")
    terminal.run("found = xs.inspect.explore(third, 1.0).records[0]")
    record = terminal.shell.user_ns["found"]
    lines = {}
    for equation in record.jaxpr.walk():
        (text,) = (each for each in record.sources if each.file == equation.source.file)
        assert text.note == ""
        lines[equation.operation] = text.text.splitlines()[equation.source.line - text.first_line].strip()
    assert lines == {
        "sin": "return jnp.sin(x)",
        "mul": "return first(x) * 2.0",
        "add": "third = lambda x: second(x) + 1.0",
    }
    assert len(record.sources) == 3


@pytest.mark.parametrize(
    "cell",
    [
        "\n\n%alias_magic   -l t timeit\nout = xs.jit(lambda x: jnp.sin(x) * 3.0)(x)\n",
        "%%scope\n%alias_magic   -l t timeit\nout = xs.jit(lambda x: jnp.sin(x) * 4.0)(x)\n",
        "words = !echo   hello\nout = xs.jit(lambda x: jnp.sin(x) * 5.0)(x)\n",
    ],
)
def test_a_cell_is_shown_as_it_was_written(terminal: Any, cell: str) -> None:
    found: list[Any] = []
    subscription = records.watch(found.append)
    terminal.run(cell)
    subscription.close()
    traced = next(each for each in found if isinstance(each, records.Traced))
    (source,) = traced.sources
    assert "get_ipython" not in source.text and source.note == ""
    assert cell.strip().removeprefix("%%scope\n") == source.text.strip()
    lines = {each.source.line for each in traced.jaxpr.walk() if each.source is not None}
    assert all("jnp.sin" in source.text.splitlines()[line - source.first_line] for line in lines)


def test_each_compilation_of_a_trace_is_remembered() -> None:
    seen: list[records.Record] = []
    function = xs.jit(lambda x: x + 1.0)
    with records.watch(seen.append):
        function(1.0)
    traced, compiled = (
        next(each for each in seen if isinstance(each, kind)) for kind in (records.Traced, records.Compiled)
    )
    elsewhere = dataclasses.replace(compiled, module=f"{compiled.module}.elsewhere")
    memory = RecordCache()
    for record in (traced, compiled, elsewhere):
        assert memory.canonical_record(record) is record
        memory.add(record)
    assert memory.canonical_record(dataclasses.replace(elsewhere, seconds=9.0)) is elsewhere
    start = records.Started(compiled.program, compiled.function, "run", 0.0)
    assert memory.records_before(start) == [traced, compiled, elsewhere]
