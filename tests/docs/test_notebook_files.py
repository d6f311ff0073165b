"""What is in the notebooks' files: outputs of their code, small, without scripts, machines, widgets; their pages."""

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebooks.making import address, first_cell, table
from notebooks.making.belonging import KEY, MOST_BYTES, code_hash, complaint, is_made
from notebooks.making.pixels import picture_of
from notebooks.making.running import STRIP
from notebooks.making.same import keep_what_is_same, unmeasured
from notebooks.making.standing import KEPT, plain, standing
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
FILES = address.notebook_files()
MADE = [path for path in FILES if is_made(nbformat.read(path, as_version=4))]
FOLD = "<details><summary>as text</summary>%s</details>"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="9" height="9" fill="red"/></svg>'

every_notebook = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
every_made = pytest.mark.parametrize("path", MADE, ids=[path.stem for path in MADE])


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@every_notebook
def test_code_and_outputs_belong_together(path: Path) -> None:
    assert complaint(path, read(path)) == ""


@every_notebook
def test_its_first_code_cell_installs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert first_cell.TAG in cells[0].metadata.tags
    assert "%load_ext xlascope" in cells[1].source
    if is_made(notebook):
        assert cells[0].source == first_cell.source() and cells[0].outputs == []


@every_made
def test_its_outputs_stand_alone(path: Path) -> None:
    for cell in read(path).cells:
        assert set(cell.metadata) <= {"tags", "jupyter", "cellView"}
        for output in cell.get("outputs", []):
            assert set(output.get("data", {})) <= set(KEPT)
            assert not re.search(
                r"<(script|style|iframe|svg)|data:image/svg|xlascope-panel", str(output.get("data", ""))
            )
            failed = output.output_type == "error" or output.get("name") == "stderr"
            assert not failed or "raises-exception" in cell.metadata.get("tags", []), output


@every_made
def test_it_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    places = [str(ROOT), str(Path.home()) + "/", "site-packages/", "ipykernel_", "/tmp/"]
    assert [place for place in places if place in text] == []
    assert not re.search(r"0x[0-9a-f]{8,}", text)


@every_made
def test_it_shows_pictures(path: Path) -> None:
    shown = [output.get("data", {}) for cell in read(path).cells for output in cell.get("outputs", [])]
    assert any("image/png" in data for data in shown)


def test_the_pages_name_what_is_there() -> None:
    way_out = "run `make notebooks BOOK=--pages`"
    assert table.README.read_text(encoding="utf-8") == table.page(), way_out
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert address.with_badges(readme, FILES[0]) == readme, way_out
    assert address.binder(FILES[0]) in readme and address.colab(FILES[0]) in readme


@pytest.mark.parametrize("folder", ["docs", "notebooks", "core", "widgets", "kernel_ext"])
def test_the_address_stands_once(folder: str) -> None:
    """Elsewhere it is made of that in pyproject.toml."""
    made = {table.README, *FILES}
    files = (path for kind in ("*.md", "*.py", "*.ipynb") for path in (ROOT / folder).rglob(kind))
    named = [path for path in files if path not in made and address.slug() in path.read_text(encoding="utf-8")]
    assert named == []


def made(*cells: Any) -> Any:
    notebook = new_notebook(cells=list(cells))
    notebook.metadata[KEY] = {"code": code_hash(notebook), "seconds": 1}
    return notebook


def printed(source: str, text: str, number: str = "a") -> Any:
    return new_code_cell(source, id=number, outputs=[new_output("stream", text=text)])


def test_what_does_not_belong_together_is_said(tmp_path: Path) -> None:
    path, notebook = tmp_path / "x.ipynb", made(printed("print(1)", "1"))

    def told() -> str:
        nbformat.write(notebook, path)
        return complaint(path, notebook)

    assert told() == ""
    notebook.cells.append(new_markdown_cell("words may change"))
    assert told() == ""
    notebook.cells[0].source = "print(2)"
    assert told() == "x.ipynb: the code has changed since its outputs were made; run `make notebooks BOOK=x.ipynb`"
    del notebook.metadata[KEY]
    assert "`make notebooks BOOK=x.ipynb` did not make" in told()
    notebook.cells[0].outputs = []
    assert told() == ""  # its author leaves it so
    notebook = made(printed("print(1)", "1" * MOST_BYTES))
    assert "more than 500,000; show less" in told()


def panel(text: str, kind: str = "execute_result", strip: bool = False) -> Any:
    image = f'<img alt="{text}" src="data:image/svg+xml;base64,{encoded(SVG)}">'
    html = f"<xlascope-panel library='a'><div><p>{text}</p>{image}{FOLD % text}</div></xlascope-panel>"
    more = {"execution_count": 3} if kind == "execute_result" else {}
    data = {"text/html": html, "text/plain": text, "application/x": "{}"}
    return new_output(kind, data=data, metadata={STRIP: True} if strip else {}, **more)


def encoded(svg: str) -> str:
    return base64.b64encode(svg.encode()).decode()


@pytest.mark.parametrize(
    ("kind", "strip", "text", "tags", "pictures"),
    [
        ("execute_result", False, "ran 1 time", [], 1),  # an answer
        ("display_data", True, "ran 9 times", [], 0),  # a strip
        ("display_data", True, "ran 1,000 times", [], 1),  # of a loop
        ("display_data", True, "ran 1 time", ["picture"], 1),  # which its author wants to be seen
    ],
)
def test_a_panel_becomes_text_and_pixels(kind: str, strip: bool, text: str, tags: list[str], pictures: int) -> None:
    told, *shown = standing([panel(text, kind, strip)], tags, 10_000)
    assert told.output_type == kind
    assert told.data == {"text/html": f"<div><p>{text}</p>{FOLD % text}</div>", "text/plain": text}
    assert [set(each.data) for each in shown] == [{"image/png", "text/plain"}] * pictures
    assert [each.metadata for each in shown] == [{"image/png": {"height": 20, "width": 40}}] * pictures


def test_a_picture_keeps_the_colours_of_thin_lines() -> None:
    """Few pixels of a colour beside many of others: a phase is not merged with another one."""
    phases = ["#2f6fde", "#c0541b", "#54309c", "#0f7b83"]
    shades = [f"#{255 - n:02x}{(n * 7) % 256:02x}{n:02x}" for n in range(200)]
    rows = [f'<rect x="0" y="{3 * i}" width="200" height="3" fill="{shade}"/>' for i, shade in enumerate(shades)]
    lines = [f'<rect x="{210 + 9 * i}" y="0" width="4" height="600" fill="{each}"/>' for i, each in enumerate(phases)]
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="260" height="600">{"".join(rows + lines)}</svg>'
    image = Image.open(io.BytesIO(picture_of(svg, 100_000).data)).convert("RGB")
    found = {colour for _, colour in image.getcolors(image.width * image.height) or []}
    assert {tuple(bytes.fromhex(phase[1:])) for phase in phases} <= found and len(found) <= 64


def test_a_notebook_with_many_loops_shows_those_that_are_tagged() -> None:
    loop = panel("ran 99 times\nin 1 s", "display_data", strip=True)
    assert [len(standing([loop], tags, 10_000, loops=False)) for tags in ([], ["picture"])] == [1, 2]
    assert standing([loop], [], 10_000)[0].data["text/plain"] == "ran 99 times"


def test_pieces_of_print_are_one_and_widgets_and_scripts_are_left_out() -> None:
    pieces = [new_output("stream", text="10 %\r20 %\n"), new_output("stream", text="done\n")]
    assert standing(pieces, [], 1) == [new_output("stream", text="20 %\ndone\n")]
    data = {"application/vnd.jupyter.widget-view+json": {}, "text/html": "a<script>b()</script>c", "text/plain": "f"}
    assert standing([new_output("display_data", data=data)], [], 1)[0].data == {"text/html": "ac", "text/plain": "f"}


def test_places_in_messages_are_those_of_the_repository() -> None:
    assert plain(f"File {ROOT}/core/xlascope/api.py:3, in f") == "File xlascope/api.py:3, in f"
    assert plain("File /tmp/a/ipykernel_123/4.py:1") == "File 4.py:1"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ran 600 times, 3.97 ms each", "ran 600 times, 12 ms each", True),
        ("dot  670 µs\nadd   20 µs", "add  1.03 ms\ndot  7 µs", True),  # sorted by time
        ("97.8% of digits", "97.6% of digits", True),
        ("gradient: 0.25", "gradient: 0.26", False),
        ("16 kernels", "17 kernels", False),
    ],
)
def test_what_only_was_measured_again_stays(one: str, other: str, same: bool) -> None:
    old, new = made(printed("f()", one)), made(printed("f()", other))
    assert keep_what_is_same(new, old) == (not same)
    assert new.cells[0].outputs[0].text == (one if same else other)


def test_what_a_panel_says_stays_while_the_code_does() -> None:
    old, new = (made(new_code_cell("f()", id="a", outputs=standing([panel(each)], [], 9))) for each in ("1 ms", "2 B"))
    assert keep_what_is_same(new, old) == 0
    new.cells[0].source = "g()"
    assert keep_what_is_same(new, old) == 1


def test_units_are_not_parts_of_words() -> None:
    assert unmeasured("f32[3] = sin 2 smaller") == "f32[3] = sin 2 smaller"
    assert unmeasured("1.5 GB/s and 20 %") == "# and #"


def test_a_notebook_without_its_first_cell_is_refused() -> None:
    with pytest.raises(ValueError, match="tag 'install'"):
        first_cell.write(made(new_code_cell("1")))
    notebook = made(new_code_cell("", metadata={"tags": ["install"]}))
    first_cell.write(notebook)
    assert json.dumps(address.repository())[1:-1] in notebook.cells[0].source
