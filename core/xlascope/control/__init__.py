"""Operations that hold programs, and jit, which makes the first of them.

Each room imports only those below it: debugging, checkpoint, rules, flow, jit, programs.
"""

from .debugging import faults  # noqa: F401  (tells dispatch who looks for the cause of NaNs)
