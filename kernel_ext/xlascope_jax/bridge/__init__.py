"""The bridge from jax to xlascope's records: the only code that imports jax, loaded once jax is imported."""
