"""A stand-in for the package of Colab's kernels, with what anywidget and notebooks use of it."""

from . import output

__all__ = ["output"]
