"""The table of JAX's documentation: every pair of dtypes and of Python's numbers meets where jax says."""

from pathlib import Path

import pytest

import xlascope as xs

LATTICE = Path(__file__).with_name("lattice.py")


def _wrong(found: dict[str, str], expected: dict[str, str]) -> list[str]:
    assert found.keys() == expected.keys()
    return [f"{pair}: {found[pair]}, jax says {wanted}" for pair, wanted in expected.items() if found[pair] != wanted]


@pytest.mark.parametrize("wide", [False, True])
def test_every_pair_of_types_meets_where_jax_says(wide, jax_says, programs):
    expected = jax_says(LATTICE, "every", enable_x64=str(int(wide)))
    with xs.enable_x64(wide):
        wrong = _wrong(programs(LATTICE).every(xs), expected)
    assert not wrong, "\n".join(wrong[:60])


def test_operations_go_by_the_table(jax_says, programs):
    wrong = _wrong(programs(LATTICE).operations(xs), jax_says(LATTICE, "operations"))
    assert not wrong, "\n".join(wrong[:60])
