"""Every operation: one class each with all its rules, one file a family. Rules reach other operations through this
package.
"""

from . import shapes  # isort: skip  (families and shapes need each other; this order lets both load)
from . import arithmetic, elementwise, indexing, linear_algebra, random_bits, reductions, sorting

__all__ = ["arithmetic", "elementwise", "indexing", "linear_algebra", "random_bits", "reductions", "shapes", "sorting"]
