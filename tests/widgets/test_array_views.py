"""Messages of the view of arrays, its code, its numbers, and the picture that a saved notebook has."""

import json
import queue
import struct
import zlib
from typing import Any

import numpy as np
import pytest
import quickjs

from xlascope.inspect.arrays.array_store import ArrayStore
from xlascope_widgets import Panel, assets
from xlascope_widgets.array_panel import ArrayPanel
from xlascope_widgets.array_picture import CELL_PIXELS, draw_thumbnail
from xlascope_widgets.array_views import MAX_WAITING_COUNT, ArrayViews
from xlascope_widgets.linker import link


class Source:
    """Arrays by handle; nothing is computed again."""

    def __init__(self) -> None:
        self.store = ArrayStore()

    def open(self, question: Any) -> Any:
        return self.store.describe(question["handle"])

    def measure(self, handle: str) -> Any:
        return self.store.measure(handle)

    def read(self, handle: str, question: Any) -> Any:
        return self.store.read(handle, question)


@pytest.fixture
def asked() -> Any:
    """Sends a message to views of arrays, and returns what comes back."""
    source, answers = Source(), queue.Queue[Any]()
    views = ArrayViews(source, lambda message, buffers: answers.put((message, buffers)))

    def ask(message: Any) -> Any:
        views.receive(message)
        return answers.get(timeout=60)

    ask.store, ask.views, ask.answers = source.store, views, answers  # type: ignore[attr-defined]
    return ask


def test_questions_are_answered(asked: Any) -> None:
    handle = asked.store.add(np.arange(6.0).reshape(2, 3), "x\u202e")
    message, (script, style) = asked({"look": "code", "id": "a"})
    assert message == {"looked": "a"} and b"showArray" in script and b".xs-heat" in style
    message, buffers = asked({"look": "open", "id": "b", "handle": handle})
    assert (message["looked"], message["type"], message["name"], buffers) == ("b", "f64[2,3]", "x\ufffd", [])
    message, _ = asked({"look": "measure", "id": "c", "handle": handle})
    assert message["maximum"] == 5.0 and message["at"]["largest"] == [1, 2]
    message, (buffer,) = asked({"look": "read", "id": "d", "handle": handle, "rows": 0, "columns": 1, "at": [0, 0]})
    assert message["cells"] == [2, 3] and np.frombuffer(buffer).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "message", [None, 3, {}, {"look": "code"}, {"look": 1, "id": "a"}, {"look": "x", "id": "x" * 65}]
)
def test_what_is_no_question_is_ignored(asked: Any, message: Any) -> None:
    asked.views.receive(message)
    assert asked({"look": "code", "id": "next"})[0] == {"looked": "next"} and asked.answers.empty()


@pytest.mark.parametrize(
    "question, words",
    [
        ({"look": "dance"}, "no question 'dance'"),
        ({"look": "measure", "handle": "no"}, "not kept"),
        ({"look": "open"}, "handle"),
    ],
)
def test_an_error_is_sent(asked: Any, question: Any, words: str) -> None:
    message, buffers = asked({**question, "id": "a"})
    assert message.keys() == {"looked", "error"} and words in message["error"] and buffers == []


def test_waiting_questions_are_bounded(asked: Any) -> None:
    asked.views._lock.acquire()
    for number in range(MAX_WAITING_COUNT + 9):
        asked.views.receive({"look": "code", "id": str(number)})
    asked.views._lock.release()
    answered = [asked.answers.get(timeout=60)[0]["looked"] for _ in range(MAX_WAITING_COUNT)]
    assert sorted(answered, key=int) == [str(number) for number in range(MAX_WAITING_COUNT)]
    assert asked({"look": "code", "id": "next"})[0] == {"looked": "next"} and asked.answers.empty()


def test_a_panel_without_arrays_says_so() -> None:
    message = ArrayViews(None, lambda message, buffers: result.append(message))
    result: list[Any] = []
    with pytest.raises(LookupError, match="shows no arrays"):
        message._answer("open", {})
    assert "look" not in Panel().questions


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbers() -> Any:
    context = quickjs.Context()
    context.eval(f"Object.assign(globalThis, {link(assets.STATIC, 'array/array_numbers.js', 'array/colour_scale.js')})")
    return lambda expression: json.loads(context.eval(f"JSON.stringify({expression})"))


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-40, 3.4e38, -2.5, 16777216.0, 0.5, 1e-7, 123456.789])
@pytest.mark.parametrize("dtype, bits", [("float32", 23), ("float64", 52), ("float16", 10)])
def test_a_number_is_written_as_no_other(numbers: Any, value: float, dtype: str, bits: int) -> None:
    number = np.dtype(dtype).type(min(value, float(np.finfo(dtype).max)))
    text = numbers(f"formatExact({float(number)!r}, {bits})")
    assert np.dtype(dtype).type(float(text)) == number
    assert len(text) <= len(repr(float(number)))


@pytest.mark.parametrize(
    "expression, text",
    [
        ("formatExact(NaN, 23)", "NaN"),
        ("formatExact(-Infinity, 23)", "-∞"),
        ("formatExact(-0, 23)", "-0"),
        ("formatExact(9007199254740993n, null)", "9007199254740993"),
        ("formatExact(Math.fround(0.1), 23)", "0.1"),
        ("formatShort('-9223372036854775808')", "-9,223,372,036,854,775,808"),
        ("formatShort(null)", "–"),
        ("formatShort(1234567)", "1235000"),
    ],
)
def test_numbers_as_text(numbers: Any, expression: str, text: str) -> None:
    assert numbers(expression) == text


@pytest.mark.parametrize("theme", ["true", "false"])
@pytest.mark.parametrize("log", ["true", "false"])
def test_colours_are_ordered_and_symmetric(numbers: Any, theme: str, log: str) -> None:
    scale = f"new ColourScale(-2, 4, 0.001, {log}, {theme})"
    places = numbers(f"[-4, -2, -0.01, 0, 0.01, 2, 4].map((value) => {scale}.place(value))")
    assert places == sorted(places) and places[3] == 0.5 and places[0] == 0 and places[-1] == 1
    assert [1 - place for place in reversed(places)] == pytest.approx(places)
    positive = numbers(f"[0, 1, 4].map((value) => new ColourScale(0, 4, 1, {log}, {theme}).place(value))")
    assert positive[0] == 0 and positive[-1] == 1 and 0 < positive[1] < 1
    assert numbers(f"new ColourScale(0, 0, 1, {log}, {theme}).place(0)") == 0


# Pictures -------------------------------------------------------------------------------------------------------------


def pixels_of(png: bytes) -> Any:
    """Return the pixels of a PNG without filters."""
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


@pytest.mark.parametrize(
    "array, cells",
    [(np.arange(6.0).reshape(2, 3) - 2, (2, 3)), (np.ones((900, 500)), (32, 63)), (np.arange(3) > 1, (1, 3))],
)
def test_the_picture_of_a_slice(array: Any, cells: tuple[int, int]) -> None:
    png = thumbnail(array)
    assert pixels_of(png).shape == (cells[0] * CELL_PIXELS, cells[1] * CELL_PIXELS, 3)
    assert len(png) < 20_000


def thumbnail(array: Any) -> bytes:
    source = Source()
    handle = source.store.add(array, "x")
    description = source.open({"handle": handle})
    rows, columns = description["axes"]
    return draw_thumbnail(*source.read(handle, {"rows": rows, "columns": columns, "at": [], "room": [32, 64]}))


def test_nan_and_infinity_are_hatched_in_the_picture() -> None:
    pixels = pixels_of(thumbnail(np.array([[1.0, np.nan, np.inf, -1.0]])))
    cells = [pixels[:, at * CELL_PIXELS : (at + 1) * CELL_PIXELS].reshape(-1, 3) for at in range(4)]
    assert [len(np.unique(cell, axis=0)) for cell in cells] == [1, 2, 2, 1]
    assert thumbnail(np.zeros((0, 3))) == b""


def test_what_a_saved_notebook_has_of_an_array() -> None:
    source = Source()
    panel = ArrayPanel(
        source, source.store.add(np.arange(6.0), "<x>"), "<x>: f64[6]\nmore\npicture", "<x>: f64[6]\nmore"
    )
    data, _ = panel.bundle()
    assert data["text/plain"] == "<x>: f64[6]\nmore\npicture"
    assert data["text/html"].startswith("<p>&lt;x&gt;: f64[6]</p><img alt=") and "<pre>more</pre>" in data["text/html"]
    assert len(json.dumps(data)) < 20_000
