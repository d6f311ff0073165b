"""What a library gives for the rows of accuracies, in single and in double precision; it is given the library."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))  # where this runs in a process of its own

from tests.core.scipy.accuracy import computed


def special_single(library: Any) -> dict[str, Any]:
    """Special functions in single precision."""
    return computed(library, "special", np.float32)


def special_double(library: Any) -> dict[str, Any]:
    """Special functions in double precision."""
    return computed(library, "special", np.float64)


def stats_single(library: Any) -> dict[str, Any]:
    """Distributions in single precision."""
    return computed(library, "stats", np.float32)


def stats_double(library: Any) -> dict[str, Any]:
    """Distributions in double precision."""
    return computed(library, "stats", np.float64)
