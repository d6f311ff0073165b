"""xlascope and jax in one process: whichever is imported first, each computes what it computes alone.

What is computed stands in ``programs.py`` and ``everyday.py``; every order is run once, in an interpreter of its own.
"""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import compiling
from tests.changes_of_jax import made

HERE = Path(__file__).parent
ORDERS = (
    "jax first",
    "used before jax",
    pytest.param("imported before jax", marks=pytest.mark.slow),
)

#: Rows in which both engines did the same: ours first, then jax's, which have to be equal.
ALIKE = (
    *("jit", "jit of numpy", "jit of a number", "grad", "vmap", "trees", "operators", "methods", "properties"),
    *("numbers", "printed", "iterated", "copied", "pickled", "bfloat16", "addresses"),
)
ALONE = {
    "jit": [["xlascope", "float32", [0.0, 3.0, 6.0]], ["jax", "float32", [0.0, 3.0, 6.0]]],
    "pmap": ["jax", "float32", [[1.0, 2.0, 3.0]]],
    "shards": ["float32[3]", True],
    "parts": [[3]],
    "structures": [True, True],
    "containers": [[1.0, 2.0], [1.0]],
    "methods of functions": [["module @ji", [who, "float32", [0.0, 3.0, 6.0]], "(3,)"] for who in ("xlascope", "jax")]
    + [["module @ji", ["xlascope", "float32", [0.0, 3.0, 6.0]], "(3,)"]],
    "cleared": [None, None, ["xlascope", "float32", [0.0, 3.0, 6.0]], ["jax", "float32", [0.0, 3.0, 6.0]]],
    "float8": [1.0, 1.0],
    "instances": [True, False, True],
    "only jax's": [False, True],
}
SINES = [0.0, pytest.approx(0.84147096), pytest.approx(0.9092974)]
#: An array of jax is as good as one of NumPy: what comes out is ours.
JAX_TO_OURS = {
    "jit": [0, 3, 6],
    "jit of nothing": [0, 1, 2],
    "closed over": [0, 1, 4],
    "closed over, first": [0, 1, 4],
    "grad": [0, 2, 4],
    "vmap": [1, 2, 3],
    "jvp": [0, 2, 8],
    "scan": 3,
    "cond": 1,
    "sin": SINES,
    "asarray": [0, 1, 2],
    "array": [[0, 1, 2], [0, 1, 2]],
    "device_put": [0, 1, 2],
    "operator": [0, 2, 4],
    "stack": [[0, 1, 2], [0, 1, 2]],
    "index": 1,
    "donated": [0, 2, 4],
    "compiled": [0, 2, 4],
    "wide": SINES,
    "bfloat16": [2, 2],
    "computed in a trace": [0, pytest.approx(0.84147096), pytest.approx(1.6829419)],
}
REFUSED_BY_US = {
    "key": "TypeError: .* jax.random.key_data",
    "tracer": "TypeError: .*It is a tracer of jax: .* Transform it with xlascope instead",
    "tracer into jit": "TypeError: argument x of <lambda> .*It is a tracer of jax",
    "container": "TypeError: argument x of <lambda> .*container for jax alone.* register its class",
}
GIVEN_OURS = r"TypeError: jax was given an array of xlascope, \w+\[.*\]. .* jax.numpy.asarray\(numpy.asarray\(x\)\)"
#: jax takes the values of our arrays, and refuses the arrays.
REFUSED_BY_JAX = {
    **dict.fromkeys(("jit", "closed over", "closed over, first", "grad", "jvp", "pmap", "sin", "array"), GIVEN_OURS),
    **dict.fromkeys(("operator", "stack", "index", "updated"), GIVEN_OURS),
    "vmap": "TypeError: .*xlascope",
    "scan": "ValueError: .*xlascope",
    "tracer": "TypeError: .*xlascope.* is not a valid JAX type",
    "tracer into jit": "TypeError: .*xlascope.* is not a valid JAX type",
}
NARROW, WIDE = ["float32", "int32", "float32", "float32"], ["float64", "int64", "float64", "float64"]


def _widths(ours, theirs):
    return [list(pair) for pair in zip(ours, theirs, strict=True)]


ZEROS = [[who, "float32", [0.0, 0.0, 0.0]] for who in ("xlascope", "jax")]
RAISED = "FloatingPointError"
#: A setting of one engine is nothing to the other.
SETTINGS = {
    "neither wide": _widths(NARROW, NARROW),
    "ours wide": _widths(WIDE, NARROW),
    "jax wide": _widths(NARROW, WIDE),
    "neither wide again": _widths(NARROW, NARROW),
    "ours not compiled": [False, True, *ZEROS],
    "jax not compiled": [True, False, *ZEROS],
    "ours looks for NaNs": [RAISED, RAISED, True, True],
    "jax looks for NaNs": [True, True, RAISED, RAISED],
    "counted": [5, [True, True, RAISED, RAISED]],
    "after counting": [True, True, RAISED, RAISED],
    "a guard": "log_explicit",
}


def _run(*arguments):
    environment = {**os.environ, **compiling.quickly(keep=False)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=HERE, env=environment, capture_output=True, text=True, timeout=560
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@functools.cache
def found_in(order):
    return _run("programs.py", order)


def _makers(outcome):
    """Who made the arrays of an outcome."""
    if not isinstance(outcome, (list, dict)):
        return set()
    if isinstance(outcome, list) and outcome and outcome[0] in ("xlascope", "jax"):
        return {outcome[0]}
    return set().union(*(_makers(each) for each in (outcome.values() if isinstance(outcome, dict) else outcome)))


@pytest.mark.parametrize("order", ORDERS)
def test_each_engine_computes_what_it_computes_alone(order):
    found = found_in(order)
    for row in ALIKE:
        ours, theirs = found[f"alone: {row}"]
        assert _makers(ours) <= {"xlascope"} and _makers(theirs) <= {"jax"}, row
        assert ours == json.loads(json.dumps(theirs).replace('"jax"', '"xlascope"')), row
    for row, expected in ALONE.items():
        assert found[f"alone: {row}"] == expected, row


@pytest.mark.parametrize("order", ORDERS)
def test_arrays_of_jax_are_taken_by_value(order):
    found = found_in(order)
    for row, expected in JAX_TO_OURS.items():
        maker, _, values = found[f"to us: {row}"]
        assert (maker, values) == ("xlascope", expected), row


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("group", "rows"), [("to us", REFUSED_BY_US), ("to jax", REFUSED_BY_JAX)])
def test_what_cannot_cross_is_refused_with_the_way_out(group, rows, order):
    found = found_in(order)
    for row, message in rows.items():
        outcome = found[f"{group}: {row}"]
        assert isinstance(outcome, str), (row, outcome)
        if made("foreign types") and message is GIVEN_OURS:
            message = f"{GIVEN_OURS}|AssertionError: ShapedArray"
        assert re.match(f"(?s){message}", outcome), (row, outcome)
    assert found["to jax: values"] == ["jax", "float32", [0.0, 1.0, 2.0]]
    assert found["to jax: computed in a trace"][0] == "jax"


@pytest.mark.parametrize("order", ORDERS)
def test_settings_of_one_engine_are_nothing_to_the_other(order):
    found = found_in(order)
    for row, expected in SETTINGS.items():
        assert found[f"settings: {row}"] == expected, row


def test_every_row_is_looked_at():
    looked_at = [
        *(f"alone: {row}" for row in (*ALIKE, *ALONE)),
        *(f"to us: {row}" for row in (*JAX_TO_OURS, *REFUSED_BY_US)),
        *(f"to jax: {row}" for row in ("values", "computed in a trace", *REFUSED_BY_JAX)),
        *(f"settings: {row}" for row in SETTINGS),
    ]
    assert set(found_in("jax first")) == set(looked_at)


@pytest.mark.parametrize("order", ["used before jax", pytest.param("jax first", marks=pytest.mark.slow)])
def test_everyday_programs_of_both_engines_agree(order):
    """In a process of both, where each array is its own engine's."""
    found = _run("everyday.py", order)
    assert len(found) > 10 and {row: text for row, text in found.items() if text} == {}


def test_jax_is_imported_while_other_threads_compute_and_copy():
    found = _run("import_elsewhere.py")
    assert found["errors"] == []
    assert found["makers"] == ["xlascope"] and min(found["rounds"]) > 0
    assert found["jax"] == [1.0, 2.0, 3.0]


@pytest.mark.slow
def test_the_page_shows_what_happens(tmp_path, root):
    text = (root / "docs/beside_jax.md").read_text(encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(text.replace("```python notest", "```python"), encoding="utf-8")
    program = (
        "import os, sys\n"
        "os.environ['JAX_PLATFORMS'] = 'cpu'\n"
        "from doctest import ELLIPSIS, NORMALIZE_WHITESPACE\n"
        "from pathlib import Path\n"
        "from sybil import Sybil\n"
        "from sybil.parsers.markdown import PythonCodeBlockParser\n"
        "parser = PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)\n"
        "examples = list(Sybil([parser], path=sys.argv[2]).parse(Path(sys.argv[1])).examples())\n"
        "for example in examples: example.evaluate()\n"
        "print(len(examples))"
    )
    assert _run("-c", program, str(page), str(tmp_path)) >= text.count("```python notest") > 0


_DIALECTS = """
from jaxlib.mlir.dialects import chlo, sdy, stablehlo
print([sorted(vars(each)) for each in (chlo, sdy, stablehlo)])
"""


def test_what_jax_imports_of_jaxlib_is_whole_beside_us() -> None:
    """Some modules of jaxlib 0.11 lose names when a part of them was imported by another way before."""
    ours = "import xlascope.inspect, xlascope.numpy, xlascope.xla.compilation.compile_program\n"
    alone, beside = (subprocess.check_output([sys.executable, "-c", each + _DIALECTS]) for each in ("", ours))
    assert beside == alone
