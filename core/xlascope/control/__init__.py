"""Operations that hold programs, and jit, which makes the first of them."""
