"""Typed keys in pmap and shard_map on eight devices, against jax."""

from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load

KEYS = Path(__file__).with_name("key_programs.py")
PROGRAMS = load(KEYS)


@pytest.fixture(scope="module")
def found(on_eight):
    return on_eight(KEYS, "every")


@pytest.fixture(scope="module")
def expected(jax_says):
    return jax_says(KEYS, "every", num_cpu_devices="8")


@pytest.mark.parametrize("name", PROGRAMS.VALUES)
def test_keys_are_those_of_jax(name, found, expected):
    for (dtype, mine), (jax_dtype, other) in zip(found[name], expected[name], strict=True):
        assert (dtype, mine.shape) == (jax_dtype, other.shape)
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
