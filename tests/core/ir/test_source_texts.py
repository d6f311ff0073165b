"""Lines of programs, wherever their functions were written: modules, decorators, lambdas, exec, files that change."""

import functools
import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.ir.source_texts import CHANGED, MISSING
from xlascope.records import Equation, Jaxpr, SourceText, Traced

MODULE = """\
import xlascope.numpy as jnp


def activation(x):
    return jnp.tanh(x)


def twice(function):
    def wrapper(x):
        return function(function(x)) * 2.0

    return wrapper


squared = lambda x: x * x
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "layers_of_a_test.py"
    file.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("layers_of_a_test", file)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    yield made
    sys.modules.pop("layers_of_a_test", None)
    linecache.checkcache(str(file))


def traced(function: Callable[..., Any]) -> Traced:
    record = inspect.explore(function, jnp.ones(3)).records[0]
    assert isinstance(record, Traced)
    return record


def lines(record: Traced) -> list[tuple[str, str, str]]:
    """Operation, file title, and the text of the line, for each equation."""
    texts = {source.file: source for source in record.sources}
    return [
        (e.operation, texts[e.source.file].title, line(texts[e.source.file], e))
        for e in record.jaxpr.walk()
        if e.source
    ]


def line(text: SourceText, equation: Equation) -> str:
    assert equation.source is not None
    return text.text.splitlines()[equation.source.line - text.first_line].strip()


def test_functions_of_a_module(module: Any) -> None:
    record = traced(lambda x: module.activation(x) + 1.0)
    assert lines(record) == [
        ("tanh", "layers_of_a_test.py", "return jnp.tanh(x)"),
        ("add", "test_source_texts.py", "record = traced(lambda x: module.activation(x) + 1.0)"),
    ]
    assert {source.note for source in record.sources} == {""}


def test_decorators(module: Any) -> None:
    @module.twice
    @functools.partial(lambda extra, f: lambda x: f(x) + extra, 3.0)
    def shown(x: Any) -> Any:
        return jnp.sin(x)

    found = lines(traced(shown))
    assert [operation for operation, *_ in found] == ["sin", "add", "sin", "add", "mul"]
    assert found[0][1:] == ("test_source_texts.py", "return jnp.sin(x)")
    assert found[-1][1:] == ("layers_of_a_test.py", "return function(function(x)) * 2.0")
    assert "extra" in found[1][2]


def test_lambdas(module: Any) -> None:
    assert lines(traced(module.squared)) == [("mul", "layers_of_a_test.py", "squared = lambda x: x * x")]


def test_code_of_exec_has_a_text_only_if_somebody_keeps_it() -> None:
    text = "import xlascope.numpy as jnp\ndef f(x):\n    return jnp.cos(x)\n"
    for file, note in (("<made in a test>", MISSING), ("<kept in a test>", "")):
        if not note:
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict[str, Any] = {}
        exec(compile(text, file, "exec"), scope)
        record = traced(scope["f"])
        assert [(source.title, source.note) for source in record.sources] == [(file, note)]
        (equation,) = record.jaxpr.equations
        assert equation.source is not None and equation.source.line == 3
    del linecache.cache["<kept in a test>"]


def test_a_file_that_is_gone_is_said_to_be(module: Any) -> None:
    Path(module.__file__).unlink()
    linecache.checkcache(module.__file__)
    (source,) = traced(module.activation).sources
    assert (source.title, source.text, source.note) == ("layers_of_a_test.py", "", MISSING)


@pytest.mark.parametrize(
    ("edit", "note"),
    [
        (lambda text: text + "\n# a remark at the end\n", ""),
        (lambda text: "# one\n# two\n# three\n# four\n" + text, CHANGED),
        (lambda text: text.replace("activation", "renamed"), CHANGED),
        (lambda text: "def broken(:\n", ""),  # what is no Python any more cannot be compared
    ],
)
def test_a_file_that_was_edited_is_said_to_be(module: Any, edit: Callable[[str], str], note: str) -> None:
    Path(module.__file__).write_text(edit(MODULE))
    linecache.checkcache(module.__file__)
    (source,) = traced(module.activation).sources
    assert source.note == note


def test_a_program_without_equations_has_no_sources() -> None:
    assert traced(lambda x: x).sources == ()
    assert isinstance(traced(lambda x: x).jaxpr, Jaxpr)
