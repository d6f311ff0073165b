"""The boot of jaxlib: what it keeps per process, set once, in the one order that does not crash it.

First of all, and before anything of jaxlib is touched, whether it is one that fits is looked at.
"""

from . import jaxlib_version  # noqa: F401
