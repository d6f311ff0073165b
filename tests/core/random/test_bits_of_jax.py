"""The numbers are JAX's, bit for bit, in both layouts of counters and with 64-bit types."""

from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
from xlascope.settings import setting

SAMPLES = Path(__file__).with_name("samples.py")
SETTINGS = [(wide, partitionable) for wide in (False, True) for partitionable in (True, False)]
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("wide", "partitionable", "which"),
    [
        *((*setting, "every" if setting == (False, True) else "words") for setting in SETTINGS),
        *(pytest.param(*setting, "every", marks=SLOW) for setting in SETTINGS[1:]),
    ],
)
def test_every_number_is_the_one_that_jax_gives(wide, partitionable, which, jax_says, programs) -> None:
    expected = jax_says(SAMPLES, which, enable_x64=str(int(wide)), threefry_partitionable=str(int(partitionable)))
    with xs.enable_x64(wide), setting("threefry_partitionable", partitionable):
        found = getattr(programs(SAMPLES), which)(xs)
    assert found.keys() == expected.keys()
    complaints = []
    for name, value in expected.items():
        ours = found[name]
        if ours.shape != value.shape or ours.dtype != value.dtype:
            complaints.append(f"{name}: {ours.dtype}{ours.shape}, expected {value.dtype}{value.shape}")
        elif ours.tobytes() != value.tobytes():
            differing = int(np.sum(ours != value))
            complaints.append(
                f"{name}: {differing} of {ours.size} differ: {ours.ravel()[:6]}, expected {value.ravel()[:6]}"
            )
    assert not complaints, "\n".join(complaints)


def test_many_draws_in_one_program_have_the_same_bits() -> None:
    """A program of many small draws has them as loops."""

    def drawn(key):
        found = []
        for size in (1, 3, 8, 5000, 2, 7):
            key, now = xs.random.split(key)
            found += [xs.random.bits(now, (size,)), xs.vmap(lambda k: xs.random.uniform(k, (3,)))(xs.random.split(now))]
        return found, key

    key = xs.random.PRNGKey(7)
    text = xs.jit(drawn).lower(key).as_text()
    assert text.count("stablehlo.while") >= 5
    for y, expected in zip(*map(xs.tree_util.tree_leaves, (xs.jit(drawn)(key), drawn(key))), strict=True):
        np.testing.assert_array_equal(y, expected)
