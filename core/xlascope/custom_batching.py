"""Functions with batching rules of their own, under JAX's module name."""

from .control.rules.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
