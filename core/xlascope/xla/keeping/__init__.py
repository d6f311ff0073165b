"""What XLA's CPU back end is told to keep: values that it would compute again in many kernels.

Its fusion copies a value that is cheap to compute into each kernel that needs it, and has no model of what that costs.
Where layers use what layers before them gave, copies of copies grow with depth: a gradient of twelve transformer blocks
becomes twelve times the instructions that were asked for. ``graph`` reads a program as fusion sees it (with operands
as products want them, ``operand_orders``), ``fusing`` simulates which kernels would compute what (``global_rule``: what
is left in memory anyhow), ``choosing`` weighs computing again against writing and reading, by ``rates``, ``marking``
puts a barrier behind what is worth keeping, and ``staying`` says what XLA has to leave out for barriers to stay.
``policy`` says what a function or the settings ask for.
"""

from .marking import LEFT_OUT, Kept, KeptValue, keep_in, may_be_judged, with_barriers
from .staying import PICKING_LOOPS, TAKING_OUT

__all__ = [
    "LEFT_OUT",
    "PICKING_LOOPS",
    "TAKING_OUT",
    "Kept",
    "KeptValue",
    "keep_in",
    "may_be_judged",
    "with_barriers",
]
