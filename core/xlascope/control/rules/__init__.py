"""Functions that come with rules of their own: for their derivatives, their transposes, their batches."""
