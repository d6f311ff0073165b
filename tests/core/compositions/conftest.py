"""Eight virtual devices, as the tests of many devices have them."""

from tests.core.parallel.conftest import on_eight

__all__ = ["on_eight"]
