"""Who waits for a module hears of it when it has been imported, and nobody else notices."""

import importlib
import sys

import pytest

from xlascope.runtime import jax_coexistence


@pytest.fixture
def waited_for(tmp_path, monkeypatch):
    """The name of a module that sets an attribute of a class."""
    name = f"waited_for_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("class Kind: pass\nsetattr(Kind, 'told', __name__)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_all_who_wait_are_told_in_order(waited_for):
    told = []
    for each in range(3):
        jax_coexistence.on_import(waited_for, lambda each=each: told.append((each, sys.modules[waited_for].Kind.told)))
    module = importlib.import_module(waited_for)
    assert told == [(each, waited_for) for each in range(3)]
    assert (
        module.__loader__ is module.__spec__.loader and type(module.__loader__).__module__ != jax_coexistence.__name__
    )


def test_another_setattr_and_who_waits_beside_it(waited_for):
    attributes, told = [], []
    jax_coexistence.on_import(waited_for, lambda: told.append(waited_for))
    jax_coexistence.setattr_of(waited_for, lambda of, name, value: attributes.append((of.__name__, name, value)))
    module = importlib.import_module(waited_for)
    assert attributes == [("Kind", "told", waited_for)] and not hasattr(module.Kind, "told")
    assert told == [waited_for]


def test_a_stand_in_gives_what_the_module_has(waited_for):
    stand_in = jax_coexistence._PlaceholderModule(waited_for)
    assert stand_in.Kind.told == waited_for
    assert not hasattr(stand_in, "__path__")
