"""One program on eight devices: against jax, against one device, and collectives against those of vmap."""

from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load

SHARDINGS = Path(__file__).with_name("sharding_programs.py")
MAPPED = Path(__file__).with_name("mapped_programs.py")
PROGRAMS = load(SHARDINGS)
ROWS = load(MAPPED)


@pytest.fixture(scope="module")
def found(on_eight):
    return on_eight(SHARDINGS, "every")


@pytest.fixture(scope="module")
def expected(jax_says):
    return jax_says(SHARDINGS, "every", num_cpu_devices="8")


@pytest.mark.parametrize("name", PROGRAMS.LYING)
def test_arrays_lie_as_in_jax(name, found, expected):
    (spec, parts, value), (jax_spec, jax_parts, jax_value) = found[name], expected[name]
    np.testing.assert_allclose(np.array(value), np.array(jax_value), rtol=1e-5, atol=1e-6)
    assert spec == jax_spec
    assert [each[:3] for each in parts] == [each[:3] for each in jax_parts]
    for (*_, mine), (*_, other) in zip(parts, jax_parts, strict=True):
        np.testing.assert_allclose(np.array(mine), np.array(other), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS.VALUES)
def test_values_are_those_of_jax(name, found, expected):
    for mine, other in zip(found[name], expected[name], strict=True):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS.ALONE)
def test_what_jax_has_not(name, found):
    np.testing.assert_allclose(found[name], PROGRAMS.ALONE[name][1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS.REFUSED)
def test_what_jax_refuses_is_refused(name, found, expected):
    (kind, text), (jax_kind, jax_text) = found[name], expected[name]
    assert jax_kind != "nothing", jax_text
    assert (kind, jax_kind) in {("ValueError", "ValueError"), ("ValueError", "DuplicateSpecError")}, text
    assert "sharding_programs.py" in text or "axis" in text or "mesh" in text or "devices" in text, text


def test_training_is_that_on_one_device(found):
    trained = [found[f"training, {kind}"] for kind in ("data", "tensors", "both", "pmap")]
    w = [np.array(each, np.float64) for each in PROGRAMS.WEIGHTS]
    x, y = PROGRAMS.ROWS.astype(np.float64), PROGRAMS.LABELS.astype(np.float64)
    for _ in range(5):
        hidden = np.tanh(x @ w[0])
        error = 2 * (hidden @ w[1] - y) / y.size
        back = (error @ w[1].T) * (1 - hidden**2)
        w = [w[0] - 0.1 * x.T @ back, w[1] - 0.1 * hidden.T @ error]
    for weights in trained:
        for mine, right in zip(weights, w, strict=True):
            np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def apart(on_eight):
    return on_eight(MAPPED, "every")


@pytest.mark.parametrize("name", ROWS.ROWS)
def test_a_collective_across_devices_is_that_across_examples(name, apart):
    ways = {way: error for (row, way), error in apart.items() if row == name}
    assert len(ways) == (5 if name in ROWS.SMOOTH else 2)
    assert {way: error for way, error in ways.items() if not error < 2e-6} == {}


def test_a_program_that_is_lowered_again_is_asked_for_as_before(on_eight):
    """Results of unequal parts are made whole by lowering again: with the same options and under the same number."""
    (first, second), whole = on_eight(Path(__file__).with_name("compiling_programs.py"), "asked_again")
    assert first == second and first[0].reroll == "always" and whole == [True]


def test_derivatives_by_kernels_of_groups_are_those_on_one_device(on_eight):
    """XLA's partitioner leaves out the sum over devices, so that jax's are wrong where the batch is shared."""
    found = on_eight(Path(__file__).with_name("convolution_programs.py"), "differences")
    assert len(found) == 12
    assert {key: value for key, value in found.items() if not value < 1e-5} == {}
