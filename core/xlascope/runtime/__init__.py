"""Boot of jaxlib: process-wide state, set once, in the one order that does not crash.

The first import checks that the loaded jaxlib is supported, before anything of jaxlib is touched.
"""

from . import version_check  # noqa: F401
