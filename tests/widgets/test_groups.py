"""Groups of equations, and the packed form in which a program crosses, run in the embedded engine as pictures do."""

import json
import random
from collections import Counter

import pytest

from xlascope.records import Equation, Jaxpr, SourceRange, Traced, Variable
from xlascope_widgets import Panel, wire
from xlascope_widgets.program_store import ProgramStore

KINDS = ["auto", "scope", "function", "line"]


def jaxpr_of(equations, outputs, inputs=("x",)):
    names = [*inputs, *(name for equation in equations for name in equation.outputs)]
    variables = {name: Variable(name, (4, 4), "float32", False) for name in names}
    return Jaxpr("f", (), tuple(inputs), tuple(outputs), variables, tuple(equations))


def sent(jaxpr):
    program = ProgramStore.of([Traced(1, "f", 0.0, 0.1, jaxpr, "", "first call")]).main
    return wire.encode_heavy(program)


def scrambled(length, seed):
    """A random forward and backward graph in random scopes, functions and lines."""
    rng = random.Random(seed)
    names, equations = ["x"], []
    scopes = ["", "a", "a/b", "a/b/c", "d"]
    scope = ""
    for i in range(2 * length):
        if rng.random() < 0.2:
            scope = rng.choice(scopes)
        backward = i >= length
        operands = (
            (names[-1], names[2 * length - 1 - i]) if backward else (names[-1 - rng.randrange(min(5, len(names)))],)
        )
        source = SourceRange("/m.py", rng.randint(1, 6), 0, 9, 9, rng.choice("fg"))
        role = rng.choice(("tangent", "backward")) if backward else "forward"
        of = str(2 * length - 1 - i) if backward else None
        equations.append(
            Equation(str(i), rng.choice(("sin", "mul")), "", operands, (f"v{i}",), role, source, of, 1, (), scope)  # type: ignore[arg-type]
        )
        names.append(f"v{i}")
    return jaxpr_of(equations, [names[-1], "v3"])


# Every level that can be opened: what its boxes stand for, and what they take and give.
LEVELS = """(() => {
    const program = new Program(a);
    program.groupBy(b);
    const levels = [];
    const visit = (jaxpr, holder) => {
        const shown = program.groupedLevel(jaxpr);
        levels.push({holder, inputs: jaxpr.inputs, outputs: jaxpr.outputs, items: shown.equations.map(e => ({
            path: e.path, in: e.in, out: e.out, members: (e.members ?? [e]).map(m => m.path), flops: e.flops ?? 0}))});
        for (const e of shown.equations) for (const body of e.bodies ?? []) visit(body, e.path);
    };
    visit(program.heavy.jaxpr, "");
    return levels;
})()"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_groups_hold_every_equation_once_and_wait_for_no_one_that_waits_for_them(script, kind, seed):
    jaxpr = scrambled(200, seed)
    levels = script(LEVELS, sent(jaxpr), kind)
    boxes = {"": [equation.path for equation in jaxpr.equations]}
    for level in levels:
        members = [path for item in level["items"] for path in item["members"]]
        assert Counter(members) == Counter(boxes[level["holder"]])
        boxes |= {item["path"]: item["members"] for item in level["items"]}
        made = set(level["inputs"])
        own = {name for item in level["items"] for name in item["out"]}
        for item in level["items"]:
            assert set(item["in"]) & own <= made  # what a box takes was made by one before it
            made |= set(item["out"])
        if level["holder"]:
            assert set(level["outputs"]) <= made
    assert len(boxes) == len({*boxes})


def layers(count, period=8):
    operations = ["dot_general", "add", "tanh", "mul", "sub", "exp", "log", "max", "min", "neg"][:period]
    equations, last = [], "x"
    for i in range(count * period):
        source = SourceRange("/m.py", 1 + i % period, 0, 9, 9, "layer")
        equations.append(Equation(str(i), operations[i % period], "", (last,), (f"v{i}",), source=source, flops=2))
        last = f"v{i}"
    return jaxpr_of(equations, [last])


@pytest.mark.parametrize(("count", "period"), [(50, 8), (60, 6), (400, 1), (160, 2)])
def test_repeats_fold(script, count, period):
    (top, *_) = script(LEVELS, sent(layers(count, period)), "auto")
    size = "(program => program.groupedLevel(program.heavy.jaxpr).equations.length)(new Program(a))"
    names = script(size, sent(layers(count, period)))
    assert names == len(top["items"]) == 1
    assert top["items"][0]["flops"] == 2 * count * period


def test_a_layer_begins_where_the_source_begins_again(script):
    words = """(() => {
        const program = new Program(a);
        program.groupBy("auto");
        const [fold] = program.groupedLevel(program.heavy.jaxpr).equations;
        return [fold.name, fold.bodies[0].equations.map(e => [e.name, e.members[0].op])];
    })()"""
    title, parts = script(words, sent(layers(20)))
    assert title == "layer × 20"
    assert parts == [[f"layer {i}", "dot_general"] for i in range(1, 21)]


def test_many_layers_open_to_stretches_of_them(script):
    (top, within, *_) = script(LEVELS, sent(layers(50)), "auto")
    assert len(top["items"]) == 1 and len(within["items"]) == 17
    assert [len(item["members"]) for item in within["items"]] == [24] * 16 + [16]


def test_only_the_smallest_programs_are_drawn_whole_unless_asked(script):
    assert len(script(LEVELS, sent(layers(1)), "auto")[0]["items"]) == 8
    small = layers(10)
    assert len(script(LEVELS, sent(small), "auto")[0]["items"]) == 1
    assert len(script(LEVELS, sent(small), "function")[0]["items"]) == 1
    assert len(script(LEVELS, sent(small), "none")[0]["items"]) == 80


def test_no_level_has_more_boxes_than_can_be_read(script):
    rng = random.Random(0)
    operations = [f"op{i}" for i in range(40)]
    equations = [
        Equation(str(i), rng.choice(operations), "", (f"v{i - 1}" if i else "x",), (f"v{i}",)) for i in range(3000)
    ]
    levels = script(LEVELS, sent(jaxpr_of(equations, ["v2999"])), "auto")
    assert max(len(level["items"]) for level in levels) <= 400


def test_the_way_to_an_equation_leads_through_its_groups(script):
    chain = """(() => {
        const program = new Program(a);
        const [chain, path] = [program.listEnclosing("77"), "77"];
        const insides = chain.map(id => program.listInside(id));
        const sizes = insides.map(inside => inside.length);
        return {chain, holds: insides.map(inside => inside.includes(path)), sizes};
    })()"""
    found = script(chain, sent(layers(50)))
    assert found["chain"][-1] == "77" and found["sizes"] == [400, 24, 8, 1] and all(found["holds"])


def test_paths_between_two(script):
    equations = (
        Equation("0", "sin", "", ("x",), ("a",)),
        Equation("1", "cos", "", ("a",), ("b",)),
        Equation("2", "exp", "", ("a",), ("c",)),
        Equation("3", "mul", "", ("b", "c"), ("d",)),
        Equation("4", "neg", "", ("c",), ("e",)),
    )
    heavy = sent(jaxpr_of(equations, ["d", "e"]))
    ask = "findPathsBetween(new Program(a), b, c)"
    assert script(ask, heavy, "0", "3") == {"ends": ["0", "3"], "paths": ["1", "2"]}
    assert script(ask, heavy, "3", "0") == {"ends": ["0", "3"], "paths": ["1", "2"]}
    assert script(ask, heavy, "0", "1") == {"ends": ["0", "1"], "paths": []}
    assert script(ask, heavy, "3", "4") is None


def test_opening_a_box_keeps_everything_else_in_order(scene, samples):
    """Above and below, left and right: no two nodes change places when a third is opened."""
    records = samples.training_records()
    closed = {n["id"]: n for n in scene(records, [])["nodes"]}
    holders = [e.path for e in samples.training_jaxpr().equations if e.bodies]
    assert holders
    for path in holders:
        opened = {n["id"]: n for n in scene(records, [path])["nodes"]}
        for phase in {n["phase"] for n in closed.values()}:
            column = [n for n in closed.values() if n["phase"] == phase]
            for one in column:
                for other in column:
                    if one["y"] < other["y"]:
                        assert opened[one["id"]]["y"] < opened[other["id"]]["y"]
                    elif one["y"] == other["y"] and one["x"] < other["x"]:
                        assert opened[one["id"]]["x"] < opened[other["id"]]["x"]


def test_an_optimizers_chains_stay_in_order_when_a_box_above_opens(script):
    """A forward box, its gradient, and an update of two parameters that start level with it."""
    inner = jaxpr_of([Equation(f"0/{i}", "sin", "", (f"i{i}",), (f"i{i + 1}",)) for i in range(9)], ["i9"], ["i0"])
    equations = [
        Equation("0", "jit", "", ("x",), ("a",), bodies=(inner,)),
        Equation("1", "exp", "", ("a",), ("b",)),
        Equation("2", "mul", "", ("b",), ("c",), "backward", None, "1"),
        Equation("3", "mul", "", ("c",), ("d",), "backward", None, "0"),
        Equation("4", "add", "", ("c", "x"), ("p",)),
        Equation("5", "sub", "", ("p",), ("q",)),
        Equation("6", "add", "", ("d", "x"), ("r",)),
    ]
    outer = "n.path && !n.path.includes('/')"
    places = f"layoutProgram(new Program(a), new Set(b)).nodes.filter(n => {outer}).map(n => [n.path, n.y])"
    heavy = sent(jaxpr_of(equations, ["q", "r"]))
    order = [
        [path for path, _ in sorted(script(places, heavy, open), key=lambda at: at[1]) if path in "456"]
        for open in ([], ["0"])
    ]
    assert order[0] == order[1]


def test_what_is_packed_is_unpacked(script, samples):
    jaxpr = samples.training_jaxpr()
    unpacked = script(
        "[...new Program(a).equations.values()].map(e => ({...e, bodies: !!e.bodies}))",
        wire.encode_heavy(ProgramStore.of([samples.traced()]).main),
    )
    for made, equation in zip(unpacked, jaxpr.walk(), strict=True):
        assert made["path"] == equation.path and made["op"] == equation.operation
        assert made["in"] == list(equation.inputs) and made["out"] == list(equation.outputs)
        assert made.get("role", "forward") == equation.role and made.get("of") == equation.transposes
        assert made.get("flops", 0) == equation.flops and made.get("params", "") == equation.parameters
        assert made.get("name", equation.operation) == equation.name and made["bodies"] == bool(equation.bodies)
        assert (made.get("src") or [0, None])[1] == (equation.source.line if equation.source else None)
    types = script(
        "[...new Program(a).variables].map(([name, [type, bytes, label]]) => [name, type, bytes, label ?? ''])",
        wire.encode_heavy(ProgramStore.of([samples.traced()]).main),
    )
    variables = {v.name: v for e in [jaxpr, *(b for e in jaxpr.walk() for b in e.bodies)] for v in e.variables.values()}
    assert {name: (type, size, label) for name, type, size, label in types} == {
        name: (v.type_text, v.bytes, v.label) for name, v in variables.items()
    }


def test_a_packed_program_is_small(samples):
    text = json.dumps(sent(layers(1000)))
    assert len(text) / 8000 < 70  # bytes an equation; as one object each it was 160


def test_a_jaxpr_is_sent_once(samples):
    """It is most of what is sent of a program, and the compiler adds nothing to it."""
    panel, changes = Panel(), []
    panel.observe(lambda change: changes.append(change["name"]), ["jaxprs", "programs"])
    for record in (samples.traced(), samples.compiled(), samples.executed()):
        panel.receive(record)
        panel.finish()
    assert changes == ["jaxprs", "programs", "programs"]
    assert "jaxpr" not in panel.programs["1"] and panel.programs["1"]["kernels"]
    assert len(panel.jaxprs["1"]["packed"]) == len(samples.training_jaxpr().equations)
