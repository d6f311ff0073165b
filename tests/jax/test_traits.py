"""The traits of jax's operations: those of the engine's of the same names."""

import pytest

from xlascope.lax.primitives import operations_by_name
from xlascope.records.traits import Trait
from xlascope_jax.traits import ENGINE_TRAITS, JAX_TRAITS, traits_of

#: What a program of jax never holds.
OURS_ALONE = {"repeated"}


def test_the_table_says_what_operations_say():
    engine = {
        name: operation.traits
        for name, operation in operations_by_name().items()
        if operation.traits and operation.__module__.startswith("xlascope.") and name not in OURS_ALONE
    }
    assert engine == ENGINE_TRAITS
    assert not JAX_TRAITS.keys() & operations_by_name().keys()


@pytest.mark.parametrize(
    ("name", "traits"),
    [("sin", {Trait.ELEMENTWISE, Trait.CHEAP, Trait.TRANSCENDENTAL}), ("pjit", {Trait.CALL}), ("unknown", set())],
)
def test_traits_by_name(name, traits):
    assert set(traits_of([name, name]).get(name, ())) == traits
