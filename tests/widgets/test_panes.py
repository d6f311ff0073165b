"""A new pane is a record, its wire form and one file: nothing else is written anywhere."""

import json
import shutil
from dataclasses import dataclass

import pytest
import quickjs

from xlascope_widgets import assets, panes
from xlascope_widgets.linker import link
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state


@dataclass(frozen=True, slots=True)
class Counted:
    """A record that the engine does not know."""

    program: int
    function: str
    time: float
    counts: dict[str, int]


#: The pane's file, in two places.
PANE = """
import {{ el }} from "../ground/element.js";
import {{ registerPane }} from "../parts/panes.js";

registerPane({{
  id: "{id}",
  place: "{place}",
  order: 9,
  title: "operations",
  draw: (store) =>
    Object.entries(store.sentTo("{id}") ?? {{}}).map(([name, count]) => el("div", {{}}, `${{name}} × ${{count}}`)),
  offered: (store) => Boolean(store.sentTo("{id}")),
}});
"""


@pytest.fixture
def counting(monkeypatch):
    """The wire form of the records of a pane."""
    monkeypatch.setattr(panes, "_encoders", dict(panes._encoders))

    @panes.sends("operations")
    def counts(program):
        record = program.asked.get((Counted, "", ""))
        return record.counts if record is not None else None

    return counts


def drawn(root, records, expression):
    """What an expression gives in a front end with these files, of these records."""
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*_pane.js"))
    context = quickjs.Context()
    context.eval(f"Object.assign(globalThis, {link(root, *files, *MODULES)})")
    state = {name: json.dumps(json.dumps(value)) for name, value in make_static_state(ProgramStore.of(records)).items()}
    context.eval(f"globalThis.store = new Store(); store.takeLive(JSON.parse({state['live']}));")
    context.eval(f"store.takePrograms(JSON.parse({state['programs']}));")
    return str(context.eval(f"[{expression}].join('')"))


MODULES = ("store/store.js", "ground/element.js", "frame/side_tabs.js", "parts/panes.js")
SIDE = "store.list.tab = 'operations', toMarkup(el('div', {}, drawSide(store)))"
BELOW = "listPanes('below').map((pane) => [pane.title, pane.order === 9 && toMarkup(el('p', {}, pane.draw(store)))])"


@pytest.mark.parametrize(("place", "expression"), [("side", SIDE), ("below", BELOW)])
def test_a_new_pane_is_one_file(tmp_path, counting, samples, place, expression):
    root = tmp_path / "static"
    shutil.copytree(assets.STATIC, root)
    (root / "time" / "operations_pane.js").write_text(PANE.format(id="operations", place=place))
    records = samples.training_records()
    number = next(record.program for record in records)
    shown = drawn(root, [*records, Counted(number, "update", 0.0, {"tanh": 2, "<b>": 1})], expression)
    assert "operations" in shown and "tanh × 2" in shown and "&lt;b&gt; × 1" in shown


def test_a_pane_without_data_has_no_tab(tmp_path, counting, samples):
    root = tmp_path / "static"
    shutil.copytree(assets.STATIC, root)
    (root / "time" / "operations_pane.js").write_text(PANE.format(id="operations", place="side"))
    side = drawn(root, samples.training_records(), "toMarkup(el('div', {}, drawSide(store)))")
    assert 'data-tab="kernels"' in side and 'data-tab="operations"' not in side


def test_the_latest_record_is_sent(counting, samples):
    records = samples.training_records()
    number = next(record.program for record in records)
    ledger = ProgramStore.of([*records, Counted(number, "update", 0.0, {"tanh": 1})])
    program = ledger.programs[number]
    before = program.answer_count
    assert ledger.receive(Counted(number, "update", 1.0, {"tanh": 2}))
    assert panes.encode_panes(program) == {"panes": {"operations": {"tanh": 2}}} and program.answer_count > before


def test_two_functions_for_one_pane_are_refused(counting):
    with pytest.raises(ValueError, match="two functions send to the pane 'operations'"):
        panes.sends("operations")(lambda program: None)
    assert panes.sends("operations")(counting) is counting


def test_two_panes_of_one_id_are_refused():
    context = quickjs.Context()
    context.eval(f"Object.assign(globalThis, {link(assets.STATIC, 'parts/panes.js')})")
    context.eval("registerPane({ id: 'a', place: 'side', order: 1, title: 'a', draw: () => null })")
    with pytest.raises(quickjs.JSException, match="there are two panes with the id a"):
        context.eval("registerPane({ id: 'a', place: 'below', order: 1, title: 'a', draw: () => null })")
