import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlascope.records.op_names import equation_path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("jit(update)/e12/jit(loss)/e4/dot_general", "12/4"),
        ("jit(update)/e0/exp", "0"),
        ("jit(f)/e12/jit(loss)", "12"),
        ("e2/reduce_sum", "2"),
        ("jit(e5)/exp", None),
        ("jit(f)/e0/scan/jit(f)/e0/jit(body)/e1/tanh", "0/1"),
        ("jit(f)/e0/scan/jit(f)/e0/while/jit(f)/e0/jit(body)/e3/jit(f)/e1/tanh", "0/3/1"),
        ("jit(f)/e0/jit(f)/e1/jit(f)/e2/tanh", "0/1/2"),
        ("jit(f)/e2/cond/b1/e0/sort", "2/1.0"),
        ("jit(f)/e/exp", None),
        ("jit(f)/e1x/exp", None),
        ("jit(f)/e-1/exp", None),
        ("copy.3", None),
        ("", None),
        ("/" * 1000, None),
    ],
)
def test_path(name: str, path: str | None) -> None:
    assert equation_path(name) == path


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.sampled_from(["f", "<lambda>", "e3", "é"]))
def test_a_path_survives_its_name(indices: list[int], function: str) -> None:
    name = "/".join(f"jit({function})/e{index}" for index in indices) + "/sin"
    assert equation_path(name) == "/".join(map(str, indices))
