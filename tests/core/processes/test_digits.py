"""Digits, trained data-parallel and tensor-parallel by 2 and 4 processes: the numbers of one."""

from pathlib import Path

import numpy as np
import pytest

import xlascope as xs

FILE = Path(__file__).with_name("digit_programs.py")
pytest.importorskip("sklearn")


@pytest.mark.slow
@pytest.mark.parametrize("processes, devices", [(2, 1), (2, 2), (4, 1), (4, 2)])
def test_losses_are_those_of_one_process(processes, devices, in_processes, programs):
    expected = programs(FILE).on_one(xs)
    assert expected[-1] < expected[0] / 2
    for by_data, by_tensors in in_processes(FILE, "in_parallel", processes, devices):
        np.testing.assert_allclose(by_data, expected, rtol=2e-5)
        np.testing.assert_allclose(by_tensors, expected, rtol=2e-5)
