"""Optimized HLO, read: what runs as a unit, for which equations, over which bytes."""

from .kernels import read_kernels

__all__ = ["read_kernels"]
