"""The bridge from jax to xlascope's records: imported when jax is there, and the only code of ours that imports it."""
