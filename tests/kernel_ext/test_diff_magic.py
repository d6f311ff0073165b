"""`%diff` and `--save`: in a plain shell, and in a kernel."""

import json
from pathlib import Path
from typing import Any

import pytest

from xlascope.analysis.diff import Diff, load_shown

TWO = "\n".join(
    [
        "def f(x):",
        "    h = jnp.sin(x)",
        "    return h * 2.0",
        "def g(x, k=1.0):",
        "    h = jnp.sin(x)",
        "    return h * 2.0 + k",
    ]
)


def test_two_functions(terminal: Any) -> None:
    terminal.run(TWO)
    said = terminal.run("%diff f(x), g(x, k=3.0)")
    assert "f(x)  →  g(x, k=3.0)" in said and "2 alike, 2 added" in said
    assert "+ add" in said and "return h * 2.0 + k" in said and "XLA's estimate" in said
    assert "takes" in said and "rounds of both in turn, " in said and "half of the rounds between" in said
    said = terminal.run("%diff --untimed f(x), g(x, k=3.0)")
    assert "2 alike, 2 added" in said and "rounds" not in said and "measured:" not in said


def test_what_calls_python_for_its_effects_is_measured_when_asked_only(terminal: Any) -> None:
    terminal.run(
        "calls = []\ndef noisy(x):\n    xs.debug.callback(lambda v: calls.append(1), x.sum())\n    return x\n"
        "def calm(x):\n    return x"
    )
    said = terminal.run("%diff calm(x), noisy(x)")
    assert "not measured: noisy calls Python for its effects (debug_callback)" in said and "`%diff --timings`" in said
    assert "called 0" in terminal.run("print('called', len(calls))")
    assert "rounds of both in turn" in terminal.run("%diff --timings calm(x), xs.jit(noisy)(x)")
    assert "called True" in terminal.run("print('called', len(calls) > 8)")


def test_two_versions_of_a_function(terminal: Any) -> None:
    terminal.run(TWO + "\nold = f")
    terminal.run(TWO.replace("h * 2.0\n", "h * 3.0\n"))
    said = terminal.run("%diff old(x), f(x)")
    assert "~ mul" in said and "1 alike, 1 changed" in said


def test_two_sets_of_options_measured(terminal: Any) -> None:
    terminal.run(TWO)
    fast = "xs.jit(f, compiler_options={'xla_cpu_enable_fast_math': True})"
    said = terminal.run(f"%diff --timings f(x), {fast}(x)")
    assert "2 alike" in said and "rounds of both in turn" in said and "confidence" in said


def test_the_arguments_are_evaluated_once(terminal: Any) -> None:
    terminal.run(TWO + "\nseen = []\ndef once():\n    seen.append(1)\n    return x")
    assert "evaluated 2" in terminal.run("%diff f(once()), g(once())\nprint('evaluated', len(seen))")


def test_a_comparison_is_saved_opened_and_printed_as_json(terminal: Any, tmp_path: Path) -> None:
    terminal.run(TWO)
    told = terminal.run(f'%diff f(x), g(x) --save "{tmp_path}/a b.json" --text')
    found = load_shown(tmp_path / "a b.json")
    assert isinstance(found, Diff) and found.text() in told
    assert found.labels == ("f(x)", "g(x)")
    assert "f(x)  →  g(x)" in terminal.run(f"%scope open {tmp_path}/a b.json")
    assert json.loads(terminal.run("%diff --json f(x), g(x)"))["labels"] == ["f(x)", "g(x)"]


@pytest.mark.parametrize(
    "content", ['{"xlascope_diff": 7}', '{"xlascope_diff": 1, "labels": 3}', '{"xlascope_diff": 1, "la']
)
def test_a_damaged_comparison_is_a_usage_error(terminal: Any, tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    (said,) = terminal.run(f"%scope open {tmp_path}/a.json", fails=True).strip().splitlines()
    assert said.startswith("UsageError: %scope cannot open ")


@pytest.mark.parametrize("magic", ["explore", "fusions", "jaxpr"])
@pytest.mark.parametrize(
    ("suffix", "begins"), [("svg", b"<svg"), ("dot", b"digraph"), ("html", b"<!doctype"), ("txt", b"")]
)
def test_every_question_is_saved_in_every_form(
    terminal: Any, tmp_path: Path, magic: str, suffix: str, begins: bytes
) -> None:
    terminal.run(f"%{magic} --save {tmp_path}/a.{suffix} update(w, x)")
    content = (tmp_path / f"a.{suffix}").read_bytes()
    assert content.startswith(begins) and (b"update" in content or suffix == "txt") and len(content) > 100


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("%diff", "%diff takes two calls of functions with a comma between them, got nothing. Example: %diff loss("),
        ("%diff update(w, x)", "takes two calls of functions with a comma between them, got 'update(w, x)'"),
        ("%diff update(w, x), 3", "takes two calls"),
        ("%diff (update(w, x), update(w, x))", "takes two calls"),
        (
            "%diff --loud update(w, x), update(w, x)",
            "has no option --loud; it has --untimed, --timings, --text, --json and --save",
        ),
        ("%diff --untimed --timings update(w, x), update(w, x)", "%diff takes --untimed or --timings, not both"),
        (
            "%explore update(w, x), update(w, x)",
            "takes one call of a function, got 'update(w, x), update(w, x)' (%diff",
        ),
        ("%explore --save a.jpg update(w, x)", "the suffix says the form, and is one of .json, .txt, .html, .svg, "),
        ("%explore update(w, x) --save a", "cannot write a: the suffix says the form"),
    ],
)
def test_anything_else_is_a_usage_error_of_one_line(terminal: Any, line: str, complaint: str) -> None:
    (only,) = terminal.run(line, fails=True).strip().splitlines()
    assert only.startswith("UsageError: ") and complaint in only


def test_a_semicolon_displays_nothing(terminal: Any, tmp_path: Path) -> None:
    terminal.run(f"%explore --save {tmp_path}/a.txt update(w, x);")
    assert "lambda" in (tmp_path / "a.txt").read_text()
    assert "{ lambda" not in terminal.run("%explore update(w, x);")


def test_long_calls_are_before_and_after(terminal: Any) -> None:
    terminal.run(TWO)
    said = terminal.run("%diff f(jnp.ones((3, 3)) + jnp.zeros((3, 3))), g(x)")
    assert "before: f(jnp.ones((3, 3)) + jnp.zeros((3, 3)))\nafter: g(x)\n" in said


def test_a_wrong_suffix_is_said_before_anything_runs(terminal: Any) -> None:
    said = terminal.run("%timings --save a.xyz nothing(at, all)", fails=True)
    assert "UsageError" in said and "NameError" not in said


def test_in_a_kernel_a_comparison_is_a_panel_a_picture_and_text(kernel: Any) -> None:
    kernel.run(TWO)
    output = kernel.run("%diff f(x), g(x)")
    (shown,) = output.of("execute_result")
    data = shown["data"]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("f(x)  →  g(x)")
    assert "data:image/svg+xml;base64," in data["text/html"] and len(json.dumps(data)) < 200_000
