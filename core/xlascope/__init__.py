"""xlascope: a JAX you can see through.

Names are resolved on first use, by the list in ``__init__.pyi``: importing the package neither loads nor
boots the engine.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from . import bootstrap as _starting
from .names import make_lazy_attributes

if "jaxlib" in sys.modules:  # loaded by other code, perhaps before another version was installed
    from . import runtime as _runtime  # noqa: F401

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)


def _fill_methods() -> None:
    importlib.import_module("xlascope.numpy.methods")


def _ufunc_methods() -> Any:
    return importlib.import_module("xlascope.numpy.ufunc_methods")


def _register_with_library(library: str) -> None:
    importlib.import_module("xlascope.numpy.library_backends").register(library)


def _filter_traceback(error: BaseException) -> None:
    importlib.import_module("xlascope.trace.traceback_filtering").filter_traceback(error)


def _start_engine() -> Any:
    """Return a new engine, the producer of programs for calls of functions that belong to no other engine."""
    return importlib.import_module("xlascope.inspect.engine.producer").EngineProducer()


_starting.fill_methods = _fill_methods
_starting.ufunc_methods = _ufunc_methods
_starting.register_with_library = _register_with_library
_starting.filter_traceback = _filter_traceback
_starting.set_engine_factory(_start_engine)


def load_ipython_extension(shell: Any) -> None:
    """Load the notebook extension, a separate package: the hook of ``%load_ext xlascope``."""
    importlib.import_module("xlascope_ipython").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Unload the notebook extension: the hook of ``%unload_ext xlascope``."""
    importlib.import_module("xlascope_ipython").unload_ipython_extension(shell)
