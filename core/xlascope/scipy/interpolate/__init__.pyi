"""The public names, the one list of them."""

from .regular_grid import RegularGridInterpolator as RegularGridInterpolator
