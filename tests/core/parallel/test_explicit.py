"""Types that say how values lie: jax's types and values, and what is refused where nobody can tell."""

from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load

FILE = Path(__file__).with_name("explicit_programs.py")
PROGRAMS = load(FILE)


@pytest.fixture(scope="module")
def found(on_eight):
    return on_eight(FILE, "every")


@pytest.fixture(scope="module")
def expected(jax_says):
    return jax_says(FILE, "every", num_cpu_devices="8")


@pytest.mark.parametrize("program", PROGRAMS.PROGRAMS)
def test_types_and_values_are_those_of_jax(program, found, expected):
    (mine, value), (other, jax_value) = found[program], expected[program]
    assert mine == other, (value, jax_value)
    np.testing.assert_allclose(value, jax_value, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS.REFUSED)
def test_what_nobody_can_tell_is_refused(program, found, expected):
    assert expected[program][0] == "ShardingTypeError"
    kind, text = found[program]
    assert kind == "ShardingTypeError", text
    assert "reshard" in text or "out_sharding" in text


@pytest.mark.parametrize("program", PROGRAMS.ALSO)
def test_what_jax_has_no_answer_for(program, found, expected):
    assert expected[program][0] == "ShardingTypeError"
    assert found[program][0] == PROGRAMS.ALSO[program]
