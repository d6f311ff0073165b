"""Collectives within groups of devices, against jax; with types that say what varies, and across examples of vmap."""

from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load

PATH = Path(__file__).with_name("grouped_programs.py")
PROGRAMS = load(PATH)


def _compare(found, wanted, name):
    keys = [key for key in found if key[0] == name]
    assert keys and keys == [key for key in wanted if key[0] == name]
    for key in keys:
        assert (found[key].shape, found[key].dtype) == (wanted[key].shape, wanted[key].dtype), key
        np.testing.assert_allclose(found[key], wanted[key], rtol=2e-5, atol=2e-5, err_msg=str(key))


@pytest.mark.parametrize("name", [*PROGRAMS.ROWS, *PROGRAMS.OF_TWO_AXES])
def test_collectives_within_groups_are_those_of_jax(name, on_eight, jax_says):
    _compare(on_eight(PATH, "every"), jax_says(PATH, "every", num_cpu_devices="8"), name)


@pytest.mark.parametrize("name", [*PROGRAMS.SMOOTH, *PROGRAMS.ALONE])
def test_they_are_the_same_with_types_that_vary_and_in_vmap(name, on_eight):
    """jax refuses psum in both, and all of them in vmap."""
    on_mesh, *others = on_eight(PATH, "three_ways")
    for found in others:
        _compare(found, on_mesh, name)


def test_each_mean_is_that_of_its_group(on_eight):
    """jax divides by the size of the first group."""
    means, counts = np.empty_like(PROGRAMS.X), np.empty((8, 1, 1), "float32")
    for group in PROGRAMS.UNEVEN:
        means[group], counts[group] = PROGRAMS.X[group].mean(0), len(group)
    found = on_eight(PATH, "three_ways")[0]
    np.testing.assert_allclose(found["pmean, uneven", "value"], means, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["psum of 1, uneven", "value"], PROGRAMS.X * counts)


@pytest.mark.parametrize("name", PROGRAMS.REFUSED)
def test_groups_that_are_no_partition_are_refused(name, on_eight, jax_says):
    kind, text = on_eight(PATH, "refused")[name]
    assert kind == "ValueError" and "axis_index_groups of" in text and "grouped_programs.py" in text
    assert jax_says(PATH, "refused", num_cpu_devices="8")[name][0] != "nothing"
