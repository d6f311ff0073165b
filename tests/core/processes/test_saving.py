"""Sharded arrays that processes save together are those that processes, or one, or jax load."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load

import xlascope as xs
from xlascope.experimental.array_serialization import serialization

FILE = Path(__file__).with_name("saving_programs.py")
PROGRAMS = load(FILE)


def check(found):
    matrix, integers, half, larger = found
    for index, data in matrix:
        np.testing.assert_array_equal(data, PROGRAMS.VALUES["matrix"][index])
    np.testing.assert_array_equal(integers, PROGRAMS.VALUES["integers"])
    assert half == "bfloat16" and larger.dtype == np.int32
    np.testing.assert_array_equal(larger, np.pad(PROGRAMS.VALUES["matrix"].astype(np.int32), ((0, 1), (0, 1))))


def test_one_process_saves_and_loads(tmp_path, monkeypatch):
    pytest.importorskip("tensorstore")
    monkeypatch.setenv("SAVED_IN", str(tmp_path))
    check(PROGRAMS.saved(xs))
    key = xs.random.key(0)
    with pytest.raises(TypeError, match=r"pass random.key_data\(key\)"):
        serialization.run_serialization([key], [serialization.get_tensorstore_spec(tmp_path / "key")])
    with pytest.raises(ValueError, match="nothing"):
        serialization.run_deserialization(
            [xs.numpy.ones(1).sharding], [serialization.get_tensorstore_spec(tmp_path / "nothing")]
        )


@pytest.mark.slow
def test_processes_save_what_others_load(in_processes, tmp_path, monkeypatch):
    pytest.importorskip("tensorstore")
    for found in in_processes(FILE, "saved", 2, 2, SAVED_IN=str(tmp_path)):
        check(found)
    (other,) = in_processes(FILE, "loaded", 1, 1, "jax", SAVED_IN=str(tmp_path))
    check(other)
    monkeypatch.setenv("SAVED_IN", str(tmp_path))
    check(PROGRAMS.loaded(xs))
    (tmp_path / "of_jax").mkdir()
    in_processes(FILE, "saved", 1, 1, "jax", SAVED_IN=str(tmp_path / "of_jax"))
    monkeypatch.setenv("SAVED_IN", str(tmp_path / "of_jax"))
    check(PROGRAMS.loaded(xs))


def test_specifications_that_make_no_sense_are_refused():
    for arguments, error, message in (
        (("relative/path",), ValueError, "the path is absolute"),
        (("/a", "n5"), ValueError, "driver is 'zarr' or 'zarr3', not 'n5'"),
    ):
        with pytest.raises(error, match=message):
            serialization.get_tensorstore_spec(arguments[0], **({"driver": arguments[1]} if arguments[1:] else {}))
    with pytest.raises(NotImplementedError, match="leave out ocdbt"):
        serialization.get_tensorstore_spec("/a", ocdbt=True)


def test_without_tensorstore_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    with pytest.raises(ImportError, match=r"pip install xlascope\[tensorstore\]"):
        serialization.run_serialization([], [])
