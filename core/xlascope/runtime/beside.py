"""Life beside jax in one process: what jaxlib keeps per process, and whose it is.

jaxlib was made for one engine. What it keeps per process is shared so that neither engine gets a wrong answer:

============================================  ==========================================================================
registry of pytrees                           apart: ours is an object of its own (``boot.default_registry``)
64-bit types, ``disable_jit``, post hook,     jax's wherever jax is, because jax relies on what C++ does with them. We
class of tracers                              look at our own states in Python: a call whose operands C++ would convert
                                              by jax's width stays in Python (``boot.same_width``), and C++ knows our
                                              tracers for objects it does not know, which go to Python all the same
post hook, while calls are counted            ours, and it calls jax's (``boot.watch_calls``)
class of arrays                               one class, two faces; the array's type decides (``xla/faces.py``)
class of jitted functions                     no face: our methods are attributes of each function
                                              (``control/jit/functions.py``)
classes of shardings                          jax's face where jax is; the two say the same
types of shards, made by C++                  jax's. C++ looks for ``jax`` once, so nothing of ours makes it look
                                              (copies go through the buffer protocol: ``xla/arrays.py``)
configuration states in the keys of calls     both engines' states are in the keys of both: a change means one miss
clients, devices, live arrays                 apart: each engine has a client of its own; an array of jax is copied
guards of transfers and of garbage            shared, because C++ asks one state: a guard holds for both; ``import jax``
                                              keeps those that were set (``guards.py``)
profiler, log, XLA's flags, call targets      shared: one profile at a time, which sees both
============================================  ==========================================================================

jax is found by name when it is imported, and never imported from here.
"""

from __future__ import annotations

import _imp
import builtins
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["here", "of_jax", "on_import", "post_hook_of_jax", "same_switch", "setattr_of", "still_imports", "unseen"]

_CONFIG, _API = "jax._src.config", "jax._src.api"


def here() -> bool:
    """Whether jax is in this process, or is on its way in."""
    return sys.modules.get("jax") is not None or _CONFIG in sys.modules


@contextlib.contextmanager
def still_imports() -> Iterator[None]:
    """A ``with`` block in which no other thread begins to import a module, so that jax comes before it or after it."""
    _imp.acquire_lock()
    try:
        yield
    finally:
        _imp.release_lock()


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """A ``with`` block in which jaxlib's C++, which looks for jax where it is installed, does not import it."""
    with still_imports():
        if "jax" in sys.modules:
            yield
            return
        sys.modules["jax"] = None  # type: ignore[assignment]
        try:
            yield
        finally:
            sys.modules.pop("jax", None)


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
    if tree_util is not None and not tree_util.all_leaves([x]):
        return (
            "It is a container for jax alone, which has a registry of its own: register its class with "
            "xlascope.tree_util too."
        )
    return ""


def post_hook_of_jax() -> Any:
    """The state that holds what jax wants to be called after each call; None where there is none."""
    return getattr(sys.modules.get(_API), "_post_hook_state", None)


# Hearing of imports --------------------------------------------------------------------------------------------------

_Run = Callable[[ModuleType, Callable[[ModuleType], None]], None]
_runners: dict[str, _Run] = {}


class _Loader:
    """A module's loader until the module is run, by somebody else."""

    def __init__(self, loader: Any, run: _Run) -> None:
        self._loader, self._run = loader, run

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module, or None for one of the usual kind."""
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Run a module, which knows its own loader from then on."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._run(module, self._loader.exec_module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder:
    """Finds what the finders after it find; modules that somebody waits for are run by him."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module that is waited for."""
        run = _runners.get(name)
        spec = None if run is None else self._found(name, path, target)
        if run is None or spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, run)  # type: ignore[assignment]
        return spec

    def _found(self, name: str, path: Sequence[str] | None, target: Any) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            found: ModuleSpec | None = find and find(name, path, target)
            if found is not None:
                return found
        return None


_finder: Any = _Finder()


def _wait_for(name: str, run: _Run) -> None:
    _runners[name] = run
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def on_import(name: str, after: Callable[[], object]) -> None:
    """Call ``after`` as soon as a module has been imported, on the thread that imports it."""

    def run(module: ModuleType, execute: Callable[[ModuleType], None]) -> None:
        execute(module)
        after()

    _wait_for(name, run)


def setattr_of(name: str, set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Give a module that is imported later another ``setattr``."""

    def run(module: ModuleType, execute: Callable[[ModuleType], None]) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "setattr": set_attribute}
        execute(module)

    _wait_for(name, run)
