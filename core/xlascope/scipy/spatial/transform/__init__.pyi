"""The public names, the one list of them."""

from .rotations import Rotation as Rotation
from .rotations import Slerp as Slerp
