"""Optimized HLO, read: what runs as a unit, for which equations, over which bytes."""

from .kernels import read_kernels as read_kernels
