"""Operands of every pair of dtypes meet in the type that jax says, with 64-bit types and without."""

from pathlib import Path

import pytest

import xlascope as xs

PROMOTIONS = Path(__file__).with_name("promotions.py")


@pytest.mark.parametrize("wide", [False, True])
def test_every_pair_meets_where_jax_says(wide: bool, jax_says, programs) -> None:
    expected = jax_says(PROMOTIONS, "every", enable_x64=str(int(wide)))
    with xs.enable_x64(wide):
        found = programs(PROMOTIONS).every(xs)
    assert found.keys() == expected.keys()
    wrong = [
        f"{row}: {found[row]}, jax says {wanted}" for row, wanted in expected.items() if not _same(found[row], wanted)
    ]
    assert not wrong, f"{len(wrong)} of {len(expected)}:\n" + "\n".join(wrong[:60])


def _same(found: str, wanted: str) -> bool:
    return found == wanted or (found, wanted) == ("bool", "bool weak")
