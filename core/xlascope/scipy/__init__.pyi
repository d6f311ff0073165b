"""The public names, the one list of them."""

from . import special as special
