"""``python -m xlascope port``: change a program's imports of jax to xlascope, and back."""
