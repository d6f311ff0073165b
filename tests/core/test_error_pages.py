"""One page for each error: its failing program fails with it, its mended program runs, and messages lead to it."""

import ast
import functools
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from xlascope import errors
from xlascope.errors.explaining import load_pages, page_of

PACKAGE = Path(errors.__file__).resolve().parents[1]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
RAISED = re.compile(r"^Raised as `(\w+)`\.$", re.MULTILINE)
SECTIONS = ["A program that fails", "The mended program", "Why"]

# What the message of each failing program has to hold: where, which value, and the way out.
PROMISES = {
    "ConcretizationTypeError": [":7 (in average)", "the argument count of average", "x.astype(int)"],
    "TracerBoolConversionError": [":6 (in rectify)", "by gt from the argument x of rectify", "lax.cond", "where"],
    "TracerIntegerConversionError": ["(in ones_in_front)", "the argument count of ones_in_front", "static_argnums"],
    "TracerArrayConversionError": ["(in wave)", "the argument x of wave", "Use xlascope.numpy in place of numpy"],
    "NonConcreteBooleanIndexError": ["(in sum_of_positive)", "bool[3]", "numpy.where(mask, x, 0)"],
    "UnexpectedTracerError": ["(in <module>)", "computed by mul", "(in double)", "Return the value"],
    "JaxprTypeError": ["equation 0 (add)", "used before it is defined"],
    "CompilationError": ["direction of u8[2]", "cpu", "(in <module>)", "astype", "compiler_text"],
    "OutOfMemoryError": ["(in <module>)", "1 PiB", "cpu:0", "donate_argnums", "checkpoint"],
    "DeletedArrayError": ["f32[1000]", "(in <module>)", "donated to step (its argument weights)", "x = f(x)"],
    "ShardingTypeError": ["dot_general", "f32[8@x,4]", "axes 1 and 0", "(in <module>)", "out_sharding="],
    "static-arguments": ["[1, 2]", "hash"],
    "not-an-array": ["argument kind of activate", "str", "'tanh'", "(in <module>)", "static_argnums"],
    "vmap-axes": ["params['bias']", "axis 0", "is a scalar", "(in <module>)", "in_axes=(None, 0)"],
    "grad-of-non-scalar": ["errors is defined at", "(3,)", "(in <module>)", "jacrev"],
    "grad-of-integers": ["argument 0 of <lambda>", "int32", "(in <module>)", "astype(float)"],
    "in-place-update": ["(in <module>)", ".at[index].set(y)"],
    "shape-mismatch": ["(4, 3) and (4,)", "(in <module>)", "one of them 1"],
    "dtype-mismatch": ["float32 and int32", "(in <module>)", "astype"],
    "loop-types": ["scan: carry", "collect returns it", "f32[0]", "f32[1]", "(in <module>)"],
    "reverse-through-while-loop": ["while_loop", "(in halvings)", "scan", "jvp", "custom_vjp"],
    "closed-over-value": ["f32[]", "times_w)", "an argument", "closure_convert"],
    "unbound-axis-name": ["psum", "'batch'", "(in normalize)", "axis_name='batch'"],
    "shardings": ["1024 examples", "(in <module>)", "XLASCOPE_NUM_CPU_DEVICES=1024", "vmap"],
    "KeyReuseError": ["random.uniform", "random.normal", "(in noisy)", "random.clone"],
    "DistributedError": ["comes too late", "before any array", "(in <module>)"],
    "nan-found": ["sqrt", "(in <lambda>)", "-1.0"],
}

every_page = pytest.mark.parametrize("name", list(load_pages()))


def run(program: str, name: str) -> None:
    exec(compile(program, f"<{name}>", "exec"), {"__name__": "page"})


def printed(what: object) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        errors.explain(what)
    return out.getvalue()


@every_page
def test_the_failing_program_raises_that_error_and_leads_to_the_page(name):
    failing = BLOCK.findall(load_pages()[name])[0]
    (raised,) = RAISED.findall(load_pages()[name])
    with pytest.raises(Exception) as caught:
        run(failing, name)
    message = str(caught.value)
    assert type(caught.value).__name__ == raised
    assert not [fragment for fragment in PROMISES[name] if fragment not in message], message
    assert len(message) < 800
    assert printed(caught.value).startswith(f"# {name}\n"), message


@every_page
def test_the_mended_program_runs(name):
    (_, mended) = BLOCK.findall(load_pages()[name])
    run(mended, name)


@every_page
def test_a_page_has_the_same_parts_as_the_others(name):
    lines = load_pages()[name].splitlines()
    assert lines[0] == f"# {name}"
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == SECTIONS
    assert "\n\n".join(lines).count("\n\nRaised as `") == 1
    assert max(map(len, lines)) <= 126


@functools.cache
def pointers() -> dict[str, list[str]]:
    """The pages that messages name, and the files that do."""
    found: dict[str, list[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "see"
            if called and isinstance(node.args[0], ast.Constant):
                found.setdefault(node.args[0].value, []).append(file.name)
    return found


def test_messages_lead_to_pages_that_are_there():
    assert set(pointers()) <= set(load_pages())


def test_every_page_is_about_a_class_of_errors_or_named_by_a_message():
    classes = {name for name in errors.__all__ if name in load_pages()}
    assert set(load_pages()) - set(pointers()) - classes == set()


def test_the_documentation_lists_every_page(root):
    text = (root / "docs/errors.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"errors/pages/([\w-]+)\.md", text)) == sorted(load_pages())


def test_every_class_that_is_raised_has_a_page():
    roots = {"XlascopeError", "JAXTypeError", "JAXIndexError", "TracerError", "JaxRuntimeError"}
    kinds = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert not [name for name in kinds - roots if page_of(getattr(errors, name)) is None]


def test_explaining_by_name_class_and_error():
    assert printed("shape-mismatch") == printed("Shape-Mismatch") == load_pages()["shape-mismatch"] + "\n"
    assert printed(errors.TracerBoolConversionError) == load_pages()["TracerBoolConversionError"] + "\n"
    assert printed(errors.UnexpectedTracerError("x")) == load_pages()["UnexpectedTracerError"] + "\n"


def test_subclasses_lead_to_the_page_of_the_class_above():
    class Mine(errors.UnexpectedTracerError):
        pass

    assert page_of(Mine) == "UnexpectedTracerError"
    assert str(Mine("text")) == 'text\nSee xlascope.errors.explain("UnexpectedTracerError").'


@pytest.mark.parametrize("what", ["no-such-page", KeyError("x"), KeyError, 3])
def test_what_has_no_page_is_answered_with_those_there_are(what):
    assert all(name in printed(what) for name in load_pages())


def test_without_an_argument_the_last_error_is_explained(monkeypatch):
    monkeypatch.setattr("sys.last_exc", None, raising=False)
    monkeypatch.setattr("sys.last_value", errors.DeletedArrayError("x"), raising=False)
    assert printed(None).startswith("# DeletedArrayError")
    monkeypatch.setattr("sys.last_value", None, raising=False)
    assert "no error has reached the prompt" in printed(None)


def test_jaxlibs_own_words_are_known():
    assert printed(ValueError("INVALID_ARGUMENT: Buffer has been deleted or donated.")).startswith("# DeletedArray")
    assert printed(RuntimeError("RESOURCE_EXHAUSTED: Out of memory")).startswith("# OutOfMemoryError")
