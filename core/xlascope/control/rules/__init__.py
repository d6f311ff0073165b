"""Functions with custom rules for their derivatives, their transposes and their batching."""
