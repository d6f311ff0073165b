"""The path of an equation as the front end reads it (static/ground/path.js), run in the embedded engine."""

import json
import random
from functools import cmp_to_key

import pytest
import quickjs

from xlascope_widgets import assets, wire
from xlascope_widgets.linker import link
from xlascope_widgets.program_store import ProgramStore


@pytest.fixture(scope="module")
def run():
    """`run(function, *values)` calls a function of the module."""
    context = quickjs.Context()
    context.eval(f"const paths = {link(assets.STATIC, 'ground/path.js')};")

    def run(function, *values):
        passed = ", ".join(json.dumps(value) for value in values)
        return json.loads(context.eval(f"JSON.stringify(paths.{function}({passed}))"))

    return run


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", []),
        ("3", [(0, 3)]),
        ("3/1.0", [(0, 3), (1, 0)]),
        ("12/4", [(0, 12), (0, 4)]),
        ("3/1.0/4", [(0, 3), (1, 0), (0, 4)]),
    ],
)
def test_the_steps_of_a_path(run, path, steps):
    assert [(step["body"], step["index"]) for step in run("parsePath", path)] == steps


@pytest.mark.parametrize(
    ("holder", "body", "index", "path"),
    [
        ("", 0, 3, "3"),
        ("3", 0, 0, "3/0"),
        ("3", 1, 0, "3/1.0"),
        ("3/1.0", 0, 4, "3/1.0/4"),
        ("3/1.0", 11, 4, "3/1.0/11.4"),
    ],
)
def test_the_path_of_an_equation_in_a_body(run, holder, body, index, path):
    assert run("buildInnerPath", holder, body, index) == path
    assert run("getParentPath", path) == holder
    assert run("parsePath", path)[-1] == {"body": body, "index": index}


@pytest.mark.parametrize(("path", "chain"), [("", []), ("3", ["3"]), ("3/1.0/4", ["3", "3/1.0", "3/1.0/4"])])
def test_what_holds_an_equation(run, path, chain):
    assert run("listAncestors", path) == chain


@pytest.mark.parametrize(
    ("path", "outer", "relative"),
    [
        ("3/1.0/4", "3", "1.0/4"),
        ("3/1.0/4", "3/1.0", "4"),
        ("3/1.0/4", "", "3/1.0/4"),
        ("3/1.0", "3/1.0", ""),
        ("3/10", "3/1", None),  # text that begins alike
        ("31", "3", None),
        ("3", "3/1.0", None),  # the other way round
        ("3/0/4", "3/1.0", None),  # another body
        ("", "3", None),
    ],
)
def test_what_lies_within_what(run, path, outer, relative):
    assert run("isWithin", path, outer) is (relative is not None)
    if relative is not None:
        assert run("toRelativePath", path, outer) == relative
        assert run("joinPaths", outer, relative) == path


@pytest.mark.parametrize(
    "ordered",
    [
        ["", "0", "0/0", "0/1", "1", "2", "10", "10/0", "10/2", "10/10", "11"],
        ["3", "3/0", "3/0/7", "3/9", "3/10", "3/1.0", "3/1.2", "3/1.10", "3/2.0", "3/10.0", "4"],
    ],
)
def test_the_order_of_a_program(run, ordered):
    """Numbers count as numbers, bodies before indices, an equation before what it holds."""
    for at, path in enumerate(ordered):
        signs = [run("comparePaths", path, other) for other in ordered]
        assert [sign > 0 for sign in signs] == [other < at for other in range(len(ordered))]
        assert signs[at] == 0
    mixed = random.Random(0).sample(ordered, len(ordered))
    assert sorted(mixed, key=cmp_to_key(lambda a, b: run("comparePaths", a, b))) == ordered


def test_an_unpacked_program_stands_in_the_order_of_its_paths(script, samples):
    heavy = wire.encode_heavy(ProgramStore.of(samples.training_records()).main)
    order = script("new Program(a).order", heavy)
    assert order == script("[...new Program(a).order].reverse().sort(comparePaths)", heavy)
