"""A 64-bit dtype that is asked for while 64-bit types are off is narrowed, and a warning says so, as in jax."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

PROGRAMS = Path(__file__).with_name("narrowed_programs.py")

#: In jax whether these warn depends on what was compiled before; here they do each time.
ALSO_WARN = {"x.sum", "x.mean", "vecdot", "linalg.vecdot"}


@pytest.fixture(scope="module")
def caught(programs):
    return programs(PROGRAMS).warned(xs)


def test_what_warns_in_jax_warns_here(caught, jax_says):
    theirs = jax_says(PROGRAMS, "warned")
    assert caught.keys() == theirs.keys()
    assert {name for name in caught if bool(caught[name]) != bool(theirs[name])} == ALSO_WARN


def test_the_words_are_those_that_programs_filter_by(caught, jax_says):
    theirs = jax_says(PROGRAMS, "warned")
    for name in caught.keys() - ALSO_WARN:
        assert caught[name] == theirs[name], name


USES = [
    lambda: jnp.zeros(3, "float64"),
    lambda: jnp.ones(3).astype(np.int64),
    lambda: xs.jit(lambda x: x.astype("float64"))(1.0),
    lambda: xs.jit(lambda x: x.sum(dtype="float64"))(jnp.ones(3)),
    lambda: xs.grad(lambda x: jnp.asarray(x, "float64"))(1.0),
    lambda: jnp.sum(jnp.ones(3), dtype="float64"),
    lambda: jnp.matmul(jnp.ones(3), jnp.ones(3), preferred_element_type="float64"),
    lambda: jnp.stack([jnp.ones(3)], dtype="float64"),
]


@pytest.mark.parametrize("use", USES)
def test_the_warning_is_at_the_users_line_each_time(use):
    for _ in range(4):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            use()
        assert found
        for each in found:
            assert each.category is UserWarning
            assert each.filename == __file__ and each.lineno == use.__code__.co_firstlineno
            assert "is not available, and will be truncated to dtype" in str(each.message)
            assert "jax_enable_x64" in str(each.message)


def test_other_lines_of_a_planned_function_warn_too():
    @xs.jit
    def several(x):
        first = jnp.concatenate([x, x], dtype="float64")
        second = jnp.concatenate([x, x], dtype="float64")
        return first + second + jnp.concatenate([x, x], dtype="float64")

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        several(jnp.ones(2))
    begin = several.__wrapped__.__code__.co_firstlineno
    assert {each.lineno - begin for each in found} == {2, 3, 4}


SCRIPT = """
import xlascope.numpy as jnp
for _ in range(3):
    jnp.zeros(3, "float64")
jnp.ones(3, "float64")
"""


def test_each_line_warns_once(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    said = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stderr
    assert said.count("UserWarning") == 2
    assert f"{file}:4: UserWarning: Explicitly requested dtype float64" in said
    assert f"{file}:5: UserWarning" in said


FINE = [float, int, complex, None, "float32", np.int32, np.dtype("uint8"), jnp.bfloat16]


@pytest.mark.parametrize("dtype", FINE)
def test_dtypes_that_are_available_do_not_warn(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jnp.zeros(3, dtype)
        jnp.arange(3, dtype=dtype)
        jnp.sum(jnp.ones(3), dtype=dtype)


def test_no_function_asks_for_a_wide_dtype_by_itself(programs):
    table = programs(PROGRAMS)
    narrow = {"int64": "int32", "uint64": "uint32", "complex128": "complex64"}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for name, (call, dtype) in table.calls(xs).items():
            if name not in table.NAMED_WIDE:
                call(narrow.get(dtype, "float32") if isinstance(dtype, str) else "float32")
    assert not [each for each in found if "Explicitly" in str(each.message)]


def test_wide_types_do_not_warn_where_they_are_on():
    with warnings.catch_warnings(), xs.enable_x64(True):
        warnings.simplefilter("error")
        assert jnp.zeros(3, "float64").dtype == "float64"
