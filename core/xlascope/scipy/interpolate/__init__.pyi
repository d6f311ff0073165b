"""The public names, the one list of them."""

from .grids import RegularGridInterpolator as RegularGridInterpolator
