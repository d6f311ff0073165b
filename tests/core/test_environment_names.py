"""Types for annotations, devices and processes, and what is said of the machine."""

import importlib.metadata
import typing

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.typing import ArrayLike, DTypeLike

ARE_ARRAYS = {
    "an array": (lambda: jnp.ones(3), True),
    "one of numpy": (lambda: np.ones(3), True),
    "a scalar of numpy": (lambda: np.float32(1), True),
    "a truth value of numpy": (lambda: np.bool_(True), True),
    "a number": (lambda: 1j, True),
    "a list": (lambda: [1.0], False),
    "a text": (lambda: "1", False),
}


@pytest.mark.parametrize("make, expected", ARE_ARRAYS.values(), ids=ARE_ARRAYS)
def test_what_is_like_an_array(make, expected):
    assert isinstance(make(), ArrayLike) is expected


def test_a_tracer_is_like_an_array():
    assert xs.jit(lambda x: jnp.where(isinstance(x, ArrayLike), x, -x))(1.0) == 1.0


def test_annotations_are_resolved():
    def cast(x: ArrayLike, dtype: DTypeLike) -> xs.Array: ...

    assert typing.get_type_hints(cast) == {"x": ArrayLike, "dtype": DTypeLike, "return": xs.Array}


def test_devices_and_shards_are_of_these_types():
    assert all(isinstance(device, xs.Device) for device in xs.devices())
    assert isinstance(jnp.ones(2).addressable_shards[0], xs.Shard)
    assert xs.process_indices() == [xs.process_index()]


def test_copies_to_the_host_begin_and_leave_all_as_it_is():
    tree = {"x": jnp.ones(2), "n": 3, "key": xs.random.key(0)}
    found = xs.copy_to_host_async(tree)
    assert found is tree


def test_the_environment_is_told(capsys):
    told = xs.print_environment_info(return_string=True)
    assert f"jaxlib: {importlib.metadata.version('jaxlib')}" in told and "devices: " in told
    assert xs.print_environment_info() is None
    assert capsys.readouterr().out == f"{told}\n"
