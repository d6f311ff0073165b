"""Zooming as reading: what opens, what closes, and how large letters are."""

import pytest

SCENE = {
    "nodes": [
        {"path": "a", "x": 100, "y": 50, "w": 120, "h": 36, "depth": 0},
        {"path": "b", "x": 300, "y": 50, "w": 120, "h": 36, "depth": 0},
        {"path": "c", "x": 500, "y": 150, "w": 300, "h": 200, "depth": 0, "inner": [{}]},
        {"path": "c/0", "x": 500, "y": 150, "w": 200, "h": 100, "depth": 1, "inner": [{}]},
        {"path": "c/0/0", "x": 500, "y": 150, "w": 120, "h": 36, "depth": 2},
        {"path": "", "x": 100, "y": 0, "w": 76, "h": 36, "depth": 0},
    ]
}


@pytest.mark.parametrize(
    ("k", "at", "opened"),
    [
        (1.0, (100, 50), None),  # not near enough
        (1.6, (100, 50), "a"),
        (1.6, (150, 60), "a"),  # near a box is meant by it
        (1.6, (330, 40), "b"),
        (1.6, (500, 150), None),  # an equation opens to nothing
        (1.6, (100, 400), None),  # nothing is near
    ],
)
def test_what_dissolves(script, k, at, opened):
    holds = "node => ['a', 'b'].includes(node.path)"
    found = script(f"findBoxToOpen(a, {holds}, b, {{x: c[0], y: c[1]}})?.path ?? null", SCENE, k, at)
    assert found == opened


@pytest.mark.parametrize(("k", "closed"), [(0.9, []), (0.5, ["c/0"])])
def test_what_gathers_is_innermost(script, k, closed):
    assert script("findBoxesToClose(a, b).map(node => node.path)", SCENE, k) == closed


@pytest.mark.parametrize("size", [(300, 200), (2000, 200), (300, 3000)])
def test_an_opened_box_is_shown_readably_where_it_was(script, size):
    width, height = size
    node = {"x": 700, "y": 900, "w": width, "h": height}
    zoom = script("computeZoomInto(a, {x: 400, y: 300}, {width: 800, height: 600})", node)
    left = (700 - width / 2) * zoom["k"] + zoom["x"]
    top = (900 - height / 2) * zoom["k"] + zoom["y"]
    assert 1 <= zoom["k"] <= 1.2
    assert left >= 8 and top >= 8
    if width < 800 and height < 600:
        assert left + width * zoom["k"] <= 800 and top + height * zoom["k"] <= 600


@pytest.mark.parametrize("k", [0.03, 0.1, 0.3, 0.42, 0.6, 0.75, 0.9, 0.99, 1, 2])
def test_letters_are_never_too_small_to_read(script, k):
    """All is 11 or 12 pixels high, made larger where the graph is small; what has no room is left out."""
    up, said = script("[scaleLetters(a), pickLabels(scaleLetters(a))]", k)
    assert 11 * up * k >= 11
    assert said == "all" or k < 1
    assert said != "none" or k < 0.5
