"""The public names, the one list of them."""

from .sampling import map_coordinates as map_coordinates
