"""Inside of a checked shard_map, cotangents of what is the same on all devices are summed over them, as in jax."""

from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load

PATH = Path(__file__).with_name("varying_programs.py")
PROGRAMS = load(PATH)


@pytest.fixture(scope="module")
def expected(jax_says):
    return jax_says(PATH, "derivatives", num_cpu_devices="8")


@pytest.mark.parametrize("name", PROGRAMS.AS_IN_JAX)
def test_derivatives_are_those_of_jax(name, on_eight, expected):
    found = on_eight(PATH, "derivatives")[name]
    assert [x.shape for x in found] == [np.shape(x) for x in expected[name]]
    for mine, other in zip(found, expected[name], strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", PROGRAMS.ALONE)
def test_derivatives_where_jax_has_others(name, on_eight):
    for found in on_eight(PATH, "derivatives_alone")[name]:
        np.testing.assert_allclose(found, PROGRAMS.derivatives_alone_by_numpy()[name], rtol=1e-5)


def test_a_vmap_that_takes_the_name_of_a_mesh_axis_does_not_sum_over_devices(on_eight):
    found = on_eight(PATH, "shadowed_axis")
    refused = {key for key, result in found.items() if isinstance(result, str)}
    assert refused == {("refused, a derivative", True), ("refused, a sum", True)}
    for key in refused:
        assert "the vmap around it has taken that name" in found[key]
        assert "another axis_name" in found[key]
    by_index = PROGRAMS.X * (np.arange(8) % 2)[:, None]
    np.testing.assert_allclose(found["by the index", True], by_index)
    total = PROGRAMS.X.sum(0)
    np.testing.assert_allclose(found["derivative outside", True], np.tile(total, (8, 1)), rtol=1e-5)


def test_types_say_which_values_vary(on_eight):
    checked, unchecked = on_eight(PATH, "axes_of_types")
    assert {name for name, axes in checked.items() if axes == []} == {"w", "sum"}
    assert {name for name, axes in checked.items() if axes == ["d"]} == set(checked) - {"w", "sum"}
    assert set(map(tuple, unchecked.values())) == {()}
