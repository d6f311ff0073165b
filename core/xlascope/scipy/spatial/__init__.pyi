"""The public names, the one list of them."""

from . import transform as transform
