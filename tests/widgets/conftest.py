"""The sample records, and the drawing code in the embedded JavaScript engine."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import quickjs

from xlascope.records import Record
from xlascope_widgets import assets, wire
from xlascope_widgets.linker import link
from xlascope_widgets.program_store import ProgramStore

SAMPLES = Path(__file__).with_name("samples.py")

#: The modules whose names an expression in a test may use.
SHOWN = (
    "program/program.js",
    "program/profile.js",
    "ground/path.js",
    "program/verbs.js",
    "ground/format.js",
    "layout/initial_expansion.js",
    "program/labels.js",
    "layout/semantic_zoom.js",
    "program/stage_labels.js",
    "program/terms.js",
    "layout/layout.js",
    "program/dataflow_paths.js",
    "program/other_target.js",
)


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """The module `samples.py` beside this file."""
    spec = importlib.util.spec_from_file_location("xlascope_samples", SAMPLES)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def script() -> Callable[..., Any]:
    """`script(expression, *values)`: what a JavaScript expression gives for values a, b, c…"""
    context = quickjs.Context()
    context.eval(f"Object.assign(globalThis, {link(assets.STATIC, *SHOWN)})")

    def run(expression: str, *values: Any) -> Any:
        names = "abcdefgh"[: len(values)]
        passed = ", ".join(f"JSON.parse({json.dumps(json.dumps(value))})" for value in values)
        function = f"(({', '.join(names)}) => [JSON.stringify({expression})].join(''))"
        return json.loads(context.eval(f"{function}({passed})"))

    return run


@pytest.fixture(scope="session")
def scene(script: Callable[..., Any]) -> Callable[..., Any]:
    """`scene(records, open)`: the main program's equations laid out; `open=None` opens everything."""

    def lay_out(records: list[Record], open: list[str] | None = None) -> Any:
        program = ProgramStore.of(records).main
        assert program is not None and program.traced is not None
        paths = [e.path for e in program.traced.jaxpr.walk() if e.bodies] if open is None else open
        return script(
            "(program => (program.groupBy('none'), layoutProgram(program, new Set(b))))(new Program(a))",
            wire.encode_heavy(program),
            paths,
        )

    return lay_out
