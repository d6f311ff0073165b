"""The public names, the one list of them."""

from . import linalg as linalg
