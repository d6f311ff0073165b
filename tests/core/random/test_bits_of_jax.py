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
