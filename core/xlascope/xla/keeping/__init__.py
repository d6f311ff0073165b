"""What XLA's CPU back end is told to keep: values that it would compute again in many kernels.

Its fusion copies a value that is cheap to compute into each kernel that needs it, and has no model of what that costs.
Where layers use what layers before them gave, copies of copies grow with depth: a gradient of twelve transformer blocks
becomes twelve times the instructions that were asked for. ``graph`` reads a program as fusion sees it, ``fusing``
simulates which kernels would compute what, ``choosing`` weighs computing again against writing and reading, and
``marking`` puts a barrier behind what is worth keeping.
"""

from .marking import BARRIERS_STAY, Keep, Kept, KeptValue, asked_for, keep_values, with_barriers

__all__ = ["BARRIERS_STAY", "Keep", "Kept", "KeptValue", "asked_for", "keep_values", "with_barriers"]
