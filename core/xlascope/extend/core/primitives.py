"""The handle of each operation: ``sin_p`` and its siblings."""

from ...control.programs.call import Call
from ...lax.primitives import *  # noqa: F403  (all of them, and no list to keep equal)

jit_p = Call.primitive
