"""`%unload_ext xlascope` leaves everything as it was before `%load_ext xlascope`: by comparison."""

import inspect
import threading
from typing import Any

import pytest

from xlascope.inspect import result
from xlascope.ir import user_frames
from xlascope.records.watchers import watchers
from xlascope.runtime.boot import post_hook


def state(shell: Any) -> dict[str, Any]:
    """Everything that an extension could have touched."""
    return {
        "events": {name: list(hooks) for name, hooks in shell.events.callbacks.items()},
        "magics": {kind: dict(magics) for kind, magics in shell.magics_manager.magics.items()},
        "registry": dict(shell.magics_manager.registry),
        "formatters": {
            kind: (dict(each.type_printers), dict(each.deferred_printers), dict(each.singleton_printers))
            for kind, each in shell.display_formatter.formatters.items()
        },
        "mimebundle": dict(shell.display_formatter.mimebundle_formatter.type_printers),
        "transformers": (
            list(shell.input_transformers_cleanup),
            list(shell.input_transformers_post),
            list(shell.ast_transformers),
        ),
        "exceptions": shell.custom_exceptions,
        "run_cell": (type(shell).run_cell, shell.__dict__.get("run_cell")),
        "hook": post_hook.get_global(),
        "watchers": list(watchers),
        "titles": list(user_frames.title_providers),
        "renderer": result._renderer,
        # pyzmq starts one of its own with the first large message.
        "threads": {each.name for each in threading.enumerate() if not type(each).__module__.startswith("zmq.")},
    }


@pytest.fixture
def unloaded(terminal: Any) -> Any:
    """A shell from which the extension has just been unloaded."""
    terminal.run("%unload_ext xlascope")
    return terminal


def test_unloading_after_use_restores_everything(unloaded: Any) -> None:
    before = state(unloaded.shell)
    unloaded.run("%load_ext xlascope")
    for cell in ("for _ in range(200): y = update(w, x)", "%timings update(w, x)", "%scope off", "%scope pin", "1/1"):
        unloaded.run(cell)
    assert state(unloaded.shell) != before
    unloaded.run("%unload_ext xlascope")
    assert state(unloaded.shell) == before


def test_loading_says_in_one_line_what_it_does(unloaded: Any) -> None:
    (line,) = unloaded.run("%load_ext xlascope").splitlines()
    assert "under each cell" in line and "%xlascope:" in line and "%unload_ext xlascope:" in line and len(line) < 130
    assert "under each cell" not in unloaded.run("%load_ext xlascope")


def test_the_cell_that_loads_it_gets_its_strip(unloaded: Any) -> None:
    before = state(unloaded.shell)
    loaded = unloaded.run("y = update(w, x)\n%load_ext xlascope\ny = update(w, x)")
    assert loaded.splitlines()[-1].startswith("xlascope: traced update") and loaded.count("ran 1 time") == 1
    assert unloaded.run("y = update(w, x)").count("ran 1 time") == 1
    unloaded.run("%unload_ext xlascope")
    assert state(unloaded.shell) == before


def test_loading_outside_of_a_cell_watches_the_next_one(unloaded: Any) -> None:
    unloaded.shell.extension_manager.load_extension("xlascope")
    assert unloaded.run("y = update(w, x)").splitlines()[-1].count("ran 1 time") == 1
    unloaded.shell.extension_manager.unload_extension("xlascope")
    unloaded.run("%load_ext xlascope\n%unload_ext xlascope\ny = update(w, x)")
    assert unloaded.run("y = update(w, x)") == ""


def test_off_leaves_only_the_magics(unloaded: Any) -> None:
    before = state(unloaded.shell)
    unloaded.run("%load_ext xlascope")
    unloaded.run("%scope off")
    after = state(unloaded.shell)
    assert {name for name, value in after.items() if value != before[name]} <= {"magics", "titles", "exceptions"}
    unloaded.run("%unload_ext xlascope")


def test_magics_of_the_same_name_come_back(unloaded: Any) -> None:
    def scope(line: str) -> str:
        return "somebody else's"

    unloaded.shell.register_magic_function(scope, "line", "scope")
    try:
        unloaded.run("%load_ext xlascope")
        unloaded.run("%scope on")
        unloaded.run("%unload_ext xlascope")
        assert "somebody else's" in unloaded.run("%scope on")
    finally:
        unloaded.shell.magics_manager.magics["line"].pop("scope")


def test_unloading_within_a_cell_that_runs_something(unloaded: Any) -> None:
    before = state(unloaded.shell)
    unloaded.run("%load_ext xlascope")
    unloaded.run("y = update(w, x)\n%unload_ext xlascope\ny = update(w, x)")
    assert state(unloaded.shell) == before


def test_reloading(unloaded: Any) -> None:
    unloaded.run("%load_ext xlascope")
    unloaded.run("%reload_ext xlascope")
    assert unloaded.run("y = update(w, x)").count("xlascope: ") == 1


IN_KERNEL = """
import json, threading
from typing import Any
from xlascope.inspect import result
from xlascope.ir import user_frames
from xlascope.records.watchers import watchers
from xlascope.runtime.boot import post_hook
import xlascope_widgets  # what importing the widgets' libraries changes is theirs
{source}
def lines():
    return sorted(f"{{name}}: {{value!r}}" for name, value in state(get_ipython()).items())
%unload_ext nothing
before = lines()
"""


def test_a_kernel_is_as_before_too(new_kernel: Any, setup: str) -> None:
    new_kernel.run(setup)
    new_kernel.run("y = update(w, x)")
    new_kernel.run(IN_KERNEL.format(source=inspect.getsource(state)))
    new_kernel.run("%load_ext xlascope")
    for cell in ("for _ in range(200): y = update(w, x)", "%timings update(w, x)", "%scope pin", "1/1"):
        assert not new_kernel.run(cell).of("error")
    new_kernel.run("%unload_ext xlascope")
    changed = new_kernel.run("print([pair for pair in zip(before, lines()) if pair[0] != pair[1]])").text
    assert changed == "[]\n"
