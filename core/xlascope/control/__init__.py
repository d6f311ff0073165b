"""Operations that hold programs, and jit, which makes the first of them."""

from .debugging import faults  # noqa: F401  (tells dispatch who looks for the cause of NaNs)
