"""What a panel is sent of the values of a call: the card, colours, and words for boxes and edges."""

import json
from typing import Any

import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope_widgets import Panel
from xlascope_widgets.element_tree import line_chart


def texts(tree: Any) -> str:
    """Return all text of a tree of elements."""
    return "".join(map(texts, tree["children"])) if isinstance(tree, dict) else str(tree)


def sent(function: Any, *arguments: Any) -> Any:
    panel = Panel.of(inspect.values(function, *arguments).records)
    (heavy,) = panel.programs.values()
    return json.loads(json.dumps(heavy["panes"]["values"]))


def test_a_birth_is_marked_and_described() -> None:
    values = sent(lambda x: jnp.log(x) * 2, jnp.arange(4.0))
    assert values["born"] == ["0"] and values["heat"]["0"][0] == [4, "holds infinity"]
    card = texts(values["card"])
    assert "1 of 1 result is not finite" in card and "infinity born: log of 0: 1 of 4 elements is 0" in card
    assert "x: f32[4], 0 to 3" in card and "Do: keep the operand away from 0" in card
    assert '"data-goto": "0"' in json.dumps(values["card"])


def test_numbers_of_boxes_are_those_of_the_values() -> None:
    x = jnp.array([0.0, 0.0, 0.0, 4.0])
    values = sent(lambda x: (x * 2.0, x.astype(jnp.float16) * jnp.float16(1e4)), x)
    size, zeros, limits, words = values["heat"]["0"]
    assert size[1] == "2^2.0" and zeros == [3, "75 % zeros"] and limits[0] == 0
    assert words == "values: 0 to 8, root mean square 4, 75 % zeros"
    assert values["heat"]["2"][2] == [4, "2^1 below the largest"]


def test_a_value_that_did_not_run_has_no_colour() -> None:
    values = sent(lambda x: xs.lax.cond(x > 0, lambda y: y * 2, lambda y: y + 1, x), jnp.float32(1))
    steps = [entry[0] for entry in values["heat"].values()]
    assert [None, "did not run"] in steps


def test_the_chart_over_depth_has_a_point_for_each_layer() -> None:
    def deep(weights: Any, x: Any) -> Any:
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return (x**2).sum()

    weights = [0.1 * xs.random.normal(xs.random.key(i), (16, 16)) for i in range(6)]
    chart = json.dumps(sent(xs.grad(deep), weights, jnp.ones((4, 16)))["card"])
    assert "by layer: activations from" in chart and chart.count('"circle"') == 12


def test_a_chart_of_one_point_or_none_is_drawn() -> None:
    assert line_chart("t", [("a", "fwd", [(1.0, 2.0)])], "x")["tag"] == "svg"
    assert line_chart("t", [("a", "fwd", [])], "x")["children"] == []


def test_a_report_that_arrives_later_is_sent() -> None:
    traced, report = inspect.values(lambda x: jnp.log(x), jnp.arange(4.0)).records
    panel = Panel.of([traced])
    assert "panes" not in next(iter(panel.programs.values()))
    panel._receive_answer(report)
    assert next(iter(panel.programs.values()))["panes"]["values"]["born"] == ["0"]


@pytest.mark.parametrize("name", ["size", "zeros", "limits"])
def test_colours_of_boxes_that_hold_others(script: Any, name: str) -> None:
    """The front end takes the highest step of what a box holds."""
    program = {"values": {"heat": {"0/0": [[1, "a"]] * 3, "0/1": [[3, "b"]] * 3}}}
    taken = script(
        "formatSubline(Object.assign(a, {listInside: () => ['0', '0/0', '0/1']}), {path: '0', bodies: []}, b)",
        program,
        name,
    )
    assert taken == "b"
