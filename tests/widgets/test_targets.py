"""Programs that were compiled for other hardware only, in pictures that stand still."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.records import Compiled
from xlascope_widgets import picture
from xlascope_widgets.export.dot import dot_source
from xlascope_widgets.program_store import ProgramStore


def layer(x: Any) -> Any:
    return jnp.tanh(x * 2.0).sum()


@pytest.fixture(scope="module")
def elsewhere() -> tuple[Any, ...]:
    traced, compiled = inspect.target(layer, np.ones(100, np.float32), target="cpu").records
    assert isinstance(compiled, Compiled)
    return traced, dataclasses.replace(compiled, target="gpu:h100"), dataclasses.replace(compiled, target="gpu:l4")


def test_the_picture_is_of_the_first_target(elsewhere: tuple[Any, ...]) -> None:
    drawn = picture(elsewhere)
    assert "compiled for gpu:h100, not run" in drawn
    assert elsewhere[1].kernels[0].name in drawn
    assert "not compiled yet" not in drawn


def test_a_program_that_is_here_is_drawn_as_it_is_here(elsewhere: tuple[Any, ...]) -> None:
    traced, h100, _ = elsewhere
    assert "gpu:h100" not in picture([traced, h100, dataclasses.replace(h100, target="")])


def test_the_graph_for_graphviz_names_the_target(elsewhere: tuple[Any, ...]) -> None:
    assert "for gpu:h100 (one fill each)" in dot_source(ProgramStore.of(elsewhere))
