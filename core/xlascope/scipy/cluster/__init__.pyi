"""The public names, the one list of them."""

from . import vq as vq
