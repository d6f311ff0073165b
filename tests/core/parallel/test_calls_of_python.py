"""Programs on eight devices that call Python, against NumPy, and against jax where it can run them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load

CALLING = Path(__file__).with_name("calling_programs.py")
PROGRAMS = load(CALLING)


@pytest.fixture(scope="module")
def found(on_eight):
    return on_eight(CALLING, "table")


@pytest.fixture(scope="module")
def more(on_eight):
    return on_eight(CALLING, "more")


@pytest.fixture(scope="module")
def of_jax(jax_says):
    return jax_says(CALLING, "table", num_cpu_devices="8")


@pytest.mark.parametrize("way", PROGRAMS.WAYS)
@pytest.mark.parametrize("kind", PROGRAMS.KINDS)
def test_each_kind_in_each_way(way, kind, found):
    for row in PROGRAMS.ROWS:
        if row[:2] == (way, kind):
            result, calls = PROGRAMS.expected(row)
            assert "error" not in found[row], (row, found[row])
            np.testing.assert_allclose(found[row]["result"], result, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(found[row]["calls"], calls, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", PROGRAMS.WAYS)
def test_jax_gives_the_same_where_it_can(way, found, of_jax):
    answered = [row for row in PROGRAMS.ROWS if row[0] == way and "error" not in of_jax[row]]
    assert len(answered) >= 8
    for row in answered:
        np.testing.assert_allclose(found[row]["result"], of_jax[row]["result"], rtol=1e-5, atol=1e-6)
        if row[1] != "pure":  # how often these are called is the compiler's to choose
            np.testing.assert_allclose(found[row]["calls"], of_jax[row]["calls"], rtol=1e-4, atol=1e-4)


#: How often each call is made when a program is run twice.
CALLS = {
    "largest": {(0.76,): 2},
    "in order": {(0.0, 1.0): 2, (1.0, 1.0): 2, (2.0, 1.0): 2},
    "in order on each": {(float(d), float(i)): 2 for d in range(8) for i in range(3)},
    "loop": {(0.0,): 2, (1.0,): 2, (2.0,): 2},
    "loop on each": {(0.0,): 16, (1.0,): 16, (2.0,): 16},
    "branch": {(1.0,): 2},
    "branch on each": {(1.0,): 16},
    "programs in programs": {(0.76,): 2, (0.64,): 2},
    "donated": {(0.76,): 2},
    "after what was raised": {(0.76,): 2},
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name, more):
    assert Counter(more[name]) == CALLS[name]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("largest of each", 16),
        ("programs in programs on each", 32),
        ("one after the other", 32),
        ("gradient on each", 16),
    ],
)
def test_each_device_calls(name, count, more):
    assert len(more[name]) == count, more[name]


def test_calls_with_an_order_keep_it(more):
    assert [i for i, _ in more["in order"]] == [0.0, 1.0, 2.0] * 2
    for device in range(8):
        assert [i for d, i in more["in order on each"] if d == device] == [0.0, 1.0, 2.0] * 2


@pytest.mark.parametrize("name", ["raises", "raises on each"])
def test_what_a_callback_raises_comes_out_while_other_devices_wait_for_it(name, more):
    assert more[name] == "KeyError: 'a callback'"


def test_an_axis_left_to_the_compiler(more):
    assert len(more["axes left to XLA"]) == 8


PARTLY_MANUAL = Path(__file__).with_name("partly_manual_programs.py")
PARTLY_MANUAL_PROGRAMS = load(PARTLY_MANUAL)


@pytest.fixture(scope="module")
def partly_manual(on_eight):
    return on_eight(PARTLY_MANUAL, "table")


@pytest.mark.parametrize("row", PARTLY_MANUAL_PROGRAMS.ROWS, ids=" ".join)
def test_devices_that_differ_along_an_axis_left_to_the_compiler_call_once(row, partly_manual):
    found, (result, calls) = partly_manual[row], PARTLY_MANUAL_PROGRAMS.expected(*row)
    assert "error" not in found, found
    for each in found["results"]:
        np.testing.assert_allclose(each, result, rtol=1e-6)
    if calls is not None:
        np.testing.assert_allclose(found["calls"], calls, atol=2e-3)
