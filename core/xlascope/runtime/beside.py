"""Life beside jax in one process: what jaxlib keeps per process, and whose it is.

jaxlib was made for one engine. What it keeps per process is shared so that neither engine gets a wrong answer:

============================================  ==========================================================================
registry of pytrees                           apart: ours is an object of its own (``boot.default_registry``)
64-bit types, ``disable_jit``, post hook,     jax's wherever jax is, because jax relies on what C++ does with them. We
class of tracers                              look at our own states in Python: a call whose operands C++ would convert
                                              by jax's width stays in Python (``boot.same_width``), and C++ knows our
                                              tracers for objects it does not know, which go to Python all the same
post hook, while calls are counted            ours, and it calls jax's (``boot.watch_calls``)
class of arrays                               one class, two faces; the array's type decides (``xla/devices/faces.py``)
class of jitted functions                     no face: our methods are attributes of each function
                                              (``control/jit/functions.py``)
classes of shardings                          jax's face where jax is; the two say the same
types that C++ gives to what it makes         jax's. C++ looks for ``jax.core`` once, and finds a function of ours
                                              that asks jax as soon as it is here (``xla/devices/made_by_jaxlib.py``)
configuration states in the keys of calls     both engines' states are in the keys of both: a change means one miss
clients, devices, live arrays                 apart: each engine has a client of its own; an array of jax is copied
guards of transfers and of garbage            shared, because C++ asks one state: a guard holds for both; ``import jax``
                                              keeps those that were set (``guards.py``)
profiler, log, XLA's flags, call targets      shared: one profile at a time, which sees both
============================================  ==========================================================================

jax is found by name when it is imported, and never imported from here.

Nobody has to ask for this, and it costs nothing where it is not needed. Where programs of jax are watched the engine is
not started: of all this there is then one finder of modules, which tells when jax has been imported
(``tests/jax/test_questions.py`` looks at that). Where both engines compute nothing of it can be left out, because
jaxlib has one class of arrays and jax sets its methods. A setting could only forbid: our first operation beside jax,
and ``import jax`` after it, which libraries call for themselves. What is done when, and what it costs:
docs/beside_jax.md.
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

__all__ = ["here", "of_jax", "on_import", "post_hook_of_jax", "same_switch", "setattr_of", "still_imports", "unseen"]

_CONFIG, _API, _CORE = "jax._src.config", "jax._src.api", "jax._src.core"


def here() -> bool:
    """Whether jax is in this process, or is on its way in."""
    found = sys.modules.get("jax")  # a stand-in is there while another thread is in `unseen`
    return (found is not None and found.__class__ is not _StandIn) or _CONFIG in sys.modules


@contextlib.contextmanager
def still_imports() -> Iterator[None]:
    """A ``with`` block in which no other thread begins to import a module, so that jax comes before it or after it."""
    _imp.acquire_lock()
    try:
        yield
    finally:
        _imp.release_lock()


class _StandIn(ModuleType):
    """In the place of a module that has not been imported, for a moment; who takes it for that gets what that has."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        with still_imports():
            pass  # the moment is over
        return getattr(importlib.import_module(self.__name__), name)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """A ``with`` block in which jaxlib's C++, which looks for jax where it is installed, does not import it.

    It looks for classes of shardings each time, and for that of types once: it takes a function of ours, which makes
    jax's types as soon as there is jax, and none (None) before.
    """
    with still_imports():
        if "jax" in sys.modules:
            yield
            return
        core = sys.modules["jax.core"] = _StandIn("jax.core")
        sys.modules["jax"] = _StandIn("jax")
        core.ShapedArray = _type_of  # type: ignore[attr-defined]
        try:
            yield
        finally:
            del sys.modules["jax"], sys.modules["jax.core"]


def _type_of(*of: Any) -> Any:
    made = getattr(sys.modules.get(_CORE), "ShapedArray", None)
    return made and made(*of)


def same_switch(name: str, value: object) -> bool:
    """Whether jax's setting of that name has that value on this thread; True where there is no jax.

    While jax is being imported, and where it keeps its settings elsewhere, nobody knows: False.
    """
    if not here():
        return True
    state = getattr(sys.modules.get(_CONFIG), name, None)
    return state is not None and bool(state.value) == bool(value)


def of_jax(x: object) -> str:
    """What to do with something of jax that is no array here; "" for what is not jax's."""
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
    """The state that holds what jax wants to be called after each call; None where there is none."""
    return getattr(sys.modules.get(_API), "_post_hook_state", None)


# Hearing of imports --------------------------------------------------------------------------------------------------

_set_attribute: dict[str, Callable[[Any, str, Any], None]] = {}
_after: dict[str, list[Callable[[], object]]] = {}


class _Loader:
    """A module's loader until the module has been run."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module, or None for one of the usual kind."""
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Run a module, which knows its own loader from then on, and call whoever waits for it."""
        name = module.__name__
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        if name in _set_attribute:
            module.__dict__["__builtins__"] = {**vars(builtins), "setattr": _set_attribute[name]}
        self._loader.exec_module(module)
        for each in tuple(_after.get(name, ())):
            each()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder:
    """Finds what the finders after it find, and has itself told of the modules that somebody waits for."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module that is waited for."""
        spec = self._found(name, path, target) if name in _set_attribute or name in _after else None
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec

    def _found(self, name: str, path: Sequence[str] | None, target: Any) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            found: ModuleSpec | None = find and find(name, path, target)
            if found is not None:
                return found
        return None


_finder: Any = _Finder()


def _listen() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def on_import(name: str, after: Callable[[], object]) -> None:
    """Call ``after`` as soon as a module has been imported, on the thread that does it; who asked first is first."""
    _after.setdefault(name, []).append(after)
    _listen()


def setattr_of(name: str, set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Give a module that is imported later another ``setattr``."""
    _set_attribute[name] = set_attribute
    _listen()
