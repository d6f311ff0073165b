"""Coexistence with jax in one process: which engine owns each piece of jaxlib's process-wide state.

jaxlib was made for one engine. Its process-wide state is shared so that neither engine gets a wrong answer:

============================================  ==========================================================================
registry of pytrees                           separate: ours is an object of its own (``boot.default_registry``)
64-bit types, ``disable_jit``, post hook,     jax's wherever jax is, because jax relies on what C++ does with them. We
class of tracers                              read our own states in Python: a call whose operands C++ would convert
                                              by jax's width stays in Python (``boot.same_width``), and to C++ our
                                              tracers are unknown objects, which go to Python all the same
post hook, while calls are counted            ours, and it calls jax's (``boot.watch_calls``)
class of arrays                               one class for both; the array's type selects the behavior
                                              (``xla/devices/array_patching.py``)
class of jitted functions                     not patched: our methods are attributes of each function
                                              (``control/jit/jit_function.py``)
classes of shardings                          jax's behavior where jax is; the two are the same
types that C++ gives to what it makes         jax's. C++ looks for ``jax.core`` once, and finds a function of ours
                                              that asks jax as soon as it is here (``xla/devices/jaxlib_types.py``)
configuration states in the keys of calls     both engines' states are in the keys of both: a change means one miss
clients, devices, live arrays                 separate: each engine has its own client; an array of jax is copied
guards of transfers and of garbage            shared, because C++ has one state: a guard applies to both; ``import jax``
                                              keeps those that were set (``guards.py``)
profiler, log, XLA's flags, call targets      shared: one profile at a time, which sees both
============================================  ==========================================================================

jax is found by name when it is imported, and never imported from here.

All of this is automatic, and costs nothing where it is not needed. Where programs of jax are watched the
engine is not started: then only the finder of modules is installed, which notices that jax has been imported
(``tests/jax/test_questions.py`` checks that). Where both engines compute, all of it is necessary, because
jaxlib has one class of arrays and jax sets its methods. A setting could only forbid: our first operation in a
process with jax, and ``import jax`` after it, which libraries call for themselves. What is done when, and
what it costs: docs/beside_jax.md.
"""

from __future__ import annotations

import _imp
import builtins
import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = [
    "describe_jax_object",
    "hold_import_lock",
    "is_present",
    "on_import",
    "post_hook_of_jax",
    "same_switch",
    "setattr_of",
    "unseen",
]

_CONFIG, _API, _CORE = "jax._src.config", "jax._src.api", "jax._src.core"


def is_present() -> bool:
    """Return whether jax is in this process, or is being imported."""
    jax = sys.modules.get("jax")  # it may be a stand-in, while another thread is in `unseen`
    return (jax is not None and jax.__class__ is not _PlaceholderModule) or _CONFIG in sys.modules


@contextlib.contextmanager
def hold_import_lock() -> Iterator[None]:
    """Hold the import lock, so that jax is imported either before or after the ``with`` block."""
    _imp.acquire_lock()
    try:
        yield
    finally:
        _imp.release_lock()


class _PlaceholderModule(ModuleType):
    """Temporary module in place of one that is not imported; attribute access imports the real one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        with hold_import_lock():
            pass  # wait until the real module can be imported
        return getattr(importlib.import_module(self.__name__), name)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Hide jax from jaxlib's C++ during the ``with`` block, unless it has been imported already.

    C++ would import jax where it is installed. C++ looks up classes of shardings each time, and the class of
    types once: it gets a function of ours, which makes jax's types as soon as jax is imported, and None
    before.
    """
    with hold_import_lock():
        if "jax" in sys.modules:
            yield
            return
        core = sys.modules["jax.core"] = _PlaceholderModule("jax.core")
        sys.modules["jax"] = _PlaceholderModule("jax")
        core.ShapedArray = _make_jax_type  # type: ignore[attr-defined]
        try:
            yield
        finally:
            del sys.modules["jax"], sys.modules["jax.core"]


def _make_jax_type(*arguments: Any) -> Any:
    """Return jax's type of an array (``ShapedArray``) with those arguments; None while jax is not imported."""
    array_type = getattr(sys.modules.get(_CORE), "ShapedArray", None)
    return array_type and array_type(*arguments)


def same_switch(name: str, value: object) -> bool:
    """Return whether jax's setting ``name`` has that value on this thread; True if jax is not in the process.

    While jax is being imported, and if it stores its settings elsewhere, this is unknown: False.
    """
    if not is_present():
        return True
    state = getattr(sys.modules.get(_CONFIG), name, None)
    return state is not None and bool(state.value) == bool(value)


def describe_jax_object(x: object) -> str:
    """Return advice, as text, on an object of jax that is not a valid array here; "" for other objects."""
    jax = sys.modules.get("jax")
    if isinstance(x, getattr(getattr(jax, "core", None), "Tracer", ())):
        return (
            "It is a tracer of jax: a function that jax transforms (jax.jit, jax.grad, …) can compute with xlascope "
            "only what does not depend on its arguments. Transform it with xlascope instead."
        )
    tree_util = getattr(jax, "tree_util", None)
    if type(x).__module__.partition(".")[0] == "jax":
        return "It is jax's: make a value of it that is not, such as a NumPy array (for a key: jax.random.key_data)."
    if tree_util is not None and type(x) not in (list, tuple, dict) and not tree_util.all_leaves([x]):
        return (
            "It is a container for jax alone, which has a registry of its own: register its class with "
            "xlascope.tree_util too."
        )
    return ""


def post_hook_of_jax() -> Any:
    """Return the jaxlib state whose value is jax's post-call hook; None if jax is not imported."""
    return getattr(sys.modules.get(_API), "_post_hook_state", None)


# Import callbacks ----------------------------------------------------------------------------------------------------

_set_attribute: dict[str, Callable[[Any, str, Any], None]] = {}
_callbacks: dict[str, list[Callable[[], object]]] = {}


class _NotifyingLoader:
    """Loader that wraps the loader of a module; after executing the module, it calls the callbacks that wait for it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module with the wrapped loader; None lets Python create it."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute a module, restore its own loader, and call the callbacks that wait for it."""
        name = module.__name__
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        if name in _set_attribute:
            module.__dict__["__builtins__"] = {**vars(builtins), "setattr": _set_attribute[name]}
        self._loader.exec_module(module)
        for callback in tuple(_callbacks.get(name, ())):
            callback()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _NotifyingFinder:
    """Finder that wraps the loaders, found by other finders, of modules that callbacks wait for."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module that callbacks wait for, with a notifying loader; None for other modules."""
        spec = self._find_with_others(name, path, target) if name in _set_attribute or name in _callbacks else None
        if spec is None or spec.loader is None:
            return None
        spec.loader = _NotifyingLoader(spec.loader)  # type: ignore[assignment]
        return spec

    def _find_with_others(self, name: str, path: Sequence[str] | None, target: Any) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find and find(name, path, target)
            if spec is not None:
                return spec
        return None


_finder: Any = _NotifyingFinder()


def _install_finder() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def on_import(name: str, callback: Callable[[], object]) -> None:
    """Call ``callback`` when the module ``name`` has been imported, on the importing thread.

    Callbacks for one module are called in the order of registration.
    """
    _callbacks.setdefault(name, []).append(callback)
    _install_finder()


def setattr_of(name: str, set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Replace the builtin ``setattr`` in the module ``name``, which is imported later, by ``set_attribute``."""
    _set_attribute[name] = set_attribute
    _install_finder()
