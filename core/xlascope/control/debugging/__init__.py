"""Looking into what a call has run: where a value that should not be there came from."""

from ...names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
