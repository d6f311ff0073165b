"""Every operation: one class each with all its rules, one file a family. Rules reach other operations through this
package.
"""

from . import shapes  # isort: skip  (families and shapes need each other; this order lets both load)
from . import (
    arithmetic,
    barriers,
    bits,
    collectives,
    complex_numbers,
    cumulative,
    elementwise,
    indexing,
    linear_algebra,
    random_bits,
    reductions,
    scattering,
    sorting,
    special,
)

__all__ = [
    "arithmetic",
    "barriers",
    "bits",
    "collectives",
    "complex_numbers",
    "cumulative",
    "elementwise",
    "indexing",
    "linear_algebra",
    "random_bits",
    "reductions",
    "scattering",
    "shapes",
    "sorting",
    "special",
]
