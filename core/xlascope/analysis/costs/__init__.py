"""Costs of kernels: lower bounds on a chip, and measured times in relation to them."""
