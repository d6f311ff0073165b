"""The values of calls of jax's functions: where NaN is born, ranges and statistics against NumPy, and what is refused.

What is asked stands in ``values_of.py``; each of its parts runs in a process that has jax.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

VALUES_OF = Path(__file__).parent / "values_of.py"
ENVIRONMENT = {
    **os.environ,
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2",
}


def values_of(part: str) -> dict[str, Any]:
    """The rows of one part."""
    done = subprocess.run(
        [sys.executable, VALUES_OF, part], capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 0, done.stderr
    rows: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return rows


#: For each sick program the births: kind, operation, and iterations of the loops around it.
SICK = {
    "log of 0": [["inf", "log", []], ["nan", "mul", []]],
    "root at 0, gradient": [["inf", "div", []], ["nan", "mul", []]],
    "float16": [["inf", "mul", []]],
    "variance of 0": [["nan", "div", []]],
    "scan": [["nan", "sqrt", [4]]],
    "while": [["inf", "mul", [6]]],
    "custom_jvp": [["inf", "div", []]],
    "nested bodies": [["inf", "log", []]],
    "loop in a loop": [["inf", "log", [1, 0]], ["nan", "log", [2, 0]]],
    "batched loop": [["inf", "mul", [6]]],
}
ARGUMENTS = {
    "Python float": [["inf", "log", []]],
    "scalar of NumPy": [["inf", "log", []]],
    "float64 narrowed": [["inf", "div", []]],
    "static arguments": [["inf", "integer_pow", []]],
    "unused and constant": [["nan", "div", []]],
    "donated": [["inf", "div", []]],
    "random key": [["inf", "div", []]],
    "complex": [["inf", "log", []]],
    "float8": [["nan", "convert_element_type", []]],
}
SENTENCES = {
    "log of 0": "0 · inf: 1 of 3 elements is infinite",
    "float16": "mul exceeds the largest float16, 65504 (its operands reach 480)",
    "variance of 0": "0 / 0, the divisor: 2 of 2 elements are 0",
    "scan": "sqrt of negative numbers: 3 of 3 elements are negative",
    "float8": "float32 to float8_e4m3fn: 1e+04 exceeds the largest float8_e4m3fn, 448",
    "while": "mul exceeds the largest float32, 3.4028e+38 (its operands reach 1.845e+19)",
}


@pytest.mark.parametrize("part, births", [("sick", SICK), ("arguments", ARGUMENTS)])
def test_where_it_is_born(part: str, births: dict[str, Any]) -> None:
    """At its line and in its iteration; asking again compiles nothing, and the twin's results are the program's."""
    rows = values_of(part)
    assert {name: row["births"] for name, row in rows.items()} == births
    assert {name for name, row in rows.items() if not row["at the mark"] or not row["equal or close"]} == set()
    assert {name: row["compiled again"] for name, row in rows.items() if row["compiled again"]} == {}
    assert {name: rows[name]["sentence"] for name in SENTENCES if name in rows} == {
        name: sentence for name, sentence in SENTENCES.items() if name in rows
    }


def test_healthy_programs() -> None:
    rows = values_of("healthy")
    sick = rows.pop("transformer without epsilon")
    assert {name: row["births"] for name, row in rows.items()} == {name: [] for name in rows}
    assert len(rows) == 3 and all(row["equal or close"] and not row["compiled again"] for row in rows.values())
    assert [operation for _, operation, _ in sick["births"]] == ["rsqrt", "mul"]


def test_statistics_are_those_of_numpy() -> None:
    assert values_of("statistics") == {"failed": [], "as operations alone": True}


BOUNDS = {
    "deleted": "QuestionError: the values of log are not known: argument 0 was donated to an earlier call or deleted, "
    "and has no values any more: ask with a new array, or copy it before that call, as in jnp.copy(x)",
    "shapes": "QuestionError: the values of log are not known: there are shapes and no values among the arguments",
    "no call": "QuestionError: of this program of jax no call is known now: ask about one, as in inspect.timings(f, x)",
    "mutable": "QuestionError: the values of into_reference are not known: it takes mutable arrays (jax.Ref); pass "
    "arrays and return the new ones instead",
    "wrapped": [[["inf", "log"]], []],
    "forgotten": [True, True],
    "prints": [[[["inf", "log"]], ["the program prints or calls Python: that"]], []],
    "callback": [[[["nan", "div"]], ["the program prints or calls Python: that"]], True],
    "io": [[["nan", "div"]], ["the program calls Python for input or ou"]],
    "shard_map": [[["nan", "shard_map"]], ["shard_map: what it computes inside was n"]],
    "sharded": [[["nan", "log"]], []],
    "debug_nans": [[["nan", "log"]], []],
    "64 bits after": "float32",
    "integers": [[], []],
    "none": [[], []],
}


def test_bounds() -> None:
    """Prints are left out, callbacks run again and are said; into shard_map nobody looks."""
    assert values_of("bounds") == BOUNDS


def test_values_that_are_computed_again() -> None:
    assert values_of("captured") == {
        "key": True,
        "not run": "QuestionError: this value was not computed in this call: it is in a branch or a loop that did not "
        "run",
        "last": [[-8.0, -8.0], [6], []],
        "third": [[4.0, 4.0], [6], [2]],
        "too large": "QuestionError: this value has 0 MB, and values that are computed again may take 0 MB (5 % of the "
        "free memory): return a slice of it, and look at that",
        "nowhere": "QuestionError: the program has no result 0 of an equation 77",
        "argument": [[7.0, 7.0], [], []],
        "scan counts": [True] * 4,
    }


def test_a_notebook_needs_nothing_of_our_engine() -> None:
    assert values_of("notebook") == {
        "failed": [],
        "opened": [[[4], [6], [3]], [[1], [6], [3]]],
        "argument": [3],
        "text": "decay: 1 of 1 result holds NaN (7 values looked at)",
        "doctor": "1. sqrt of negative numbers:",
        "saved": ["Traced", "ValueReport"],
        "for our engine": [],
    }


def test_where_was_it_born_in_a_cell() -> None:
    rows = values_of("replayed")
    assert rows["once"] == rows["loop"] == ["log", True]
    assert rows["donated"] == (
        "LookupError: Not replayed: bad donates arguments. Run %values gives(x) with arguments from before it was born"
    )
    assert "no arguments of a call of a jitted function of this cell are kept" in rows["outside of jit"]
    assert rows["for our engine"] == []
