"""Operations: one frozen class per operation with all its rules, followed by the function that users call."""
