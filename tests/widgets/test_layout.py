"""The layout, run in the embedded engine as pictures do: what a reader relies on."""

import math
import random
import re
from collections import Counter
from dataclasses import replace

import pytest

from xlascope.records import Equation, Jaxpr, Traced, Variable
from xlascope_widgets import wire
from xlascope_widgets.program_store import ProgramStore


def overlaps(nodes):
    """Pairs of nodes that overlap without one being inside the other."""
    half = [(n["x"], n["w"] / 2, n["y"], n["h"] / 2, n["id"]) for n in nodes]
    boxes = [(x - w, x + w, y - h, y + h, name) for x, w, y, h, name in half]
    boxes.sort(key=lambda box: box[2])
    found = []
    for i, (left, right, top, bottom, name) in enumerate(boxes):
        for left2, right2, top2, bottom2, name2 in boxes[i + 1 :]:
            if top2 >= bottom:
                break
            apart = right <= left2 or right2 <= left
            within = left <= left2 and right2 <= right and top <= top2 and bottom2 <= bottom
            around = left2 <= left and right <= right2 and top2 <= top and bottom <= bottom2
            if not (apart or within or around):
                found.append((name, name2))
    return found


def chain(length: int, seed: int = 0, backward: bool = True) -> Traced:
    """A random forward graph of `length` equations, and as many backward ones."""
    rng = random.Random(seed)
    names = ["x"]
    equations = []
    for i in range(length):
        operands = tuple({names[max(0, len(names) - 1 - rng.randrange(6))] for _ in range(rng.randint(1, 3))})
        equations.append(Equation(str(i), "add", "", operands, (f"v{i}",)))
        names.append(f"v{i}")
    cotangent = names[-1]
    for i in reversed(range(length if backward else 0)):
        path = str(len(equations))
        equations.append(Equation(path, "mul", "", (cotangent, names[i]), (f"c{i}",), "backward", None, str(i)))
        cotangent = f"c{i}"
    names += [f"c{i}" for i in range(length)]
    variables = {name: Variable(name, (8, 8), "float32", False) for name in names}
    jaxpr = Jaxpr("f", (), ("x",), (cotangent,), variables, tuple(equations))
    return Traced(1, "f", 0.0, 0.1, jaxpr, "", "first call")


def test_every_equation_is_one_node_when_everything_is_open(scene, samples):
    nodes = scene(samples.training_records())["nodes"]
    drawn = Counter(node["path"] for node in nodes if node["kind"] == "equation")
    assert drawn == Counter(equation.path for equation in samples.training_jaxpr().walk())


def test_a_closed_body_is_one_node(scene, samples):
    nodes = scene(samples.training_records(), [])["nodes"]
    assert {n["path"] for n in nodes if n["kind"] == "equation"} == {e.path for e in samples.training_jaxpr().equations}


@pytest.mark.parametrize("open", [[], None])
def test_nothing_overlaps(scene, samples, open):
    assert overlaps(scene(samples.training_records(), open)["nodes"]) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("length", [3, 30, 150, 300])
def test_nothing_overlaps_in_random_graphs(scene, seed, length):
    assert overlaps(scene([chain(length, seed)])["nodes"]) == []


def test_a_backward_equation_stands_level_with_the_one_it_transposes(scene):
    nodes = {n["path"]: n for n in scene([chain(60)])["nodes"] if n["kind"] == "equation"}
    for i in range(60):
        forward, backward = nodes[str(i)], nodes[str(119 - i)]
        alone = sum(n["y"] == forward["y"] and n["phase"] == 0 for n in nodes.values()) == 1
        assert backward["x"] > forward["x"]
        if alone:
            assert backward["y"] == pytest.approx(forward["y"])
        else:
            assert backward["band"] == forward["band"]


def test_forward_runs_down_and_backward_up(scene, samples):
    graph = scene(samples.training_records(), [])
    y = {n["id"]: n["y"] for n in graph["nodes"]}
    roles = {e.path: e.role for e in samples.training_jaxpr().equations}
    for edge in graph["edges"]:
        pair = roles.get(edge["from"]), roles.get(edge["to"])
        if pair == ("forward", "forward") and edge["kind"] != "across":
            assert y[edge["from"]] < y[edge["to"]]
        if pair == ("backward", "backward"):
            assert y[edge["from"]] > y[edge["to"]]


def test_a_gradient_ends_beside_its_parameter(scene):
    nodes = scene([chain(5)])["nodes"]
    (parameter,) = (n for n in nodes if n["kind"] == "input")
    (gradient,) = (n for n in nodes if n["kind"] == "output")
    assert gradient["y"] == parameter["y"]


def test_bodies_lie_inside_their_boxes(scene, samples):
    nodes = {n["id"]: n for n in scene(samples.training_records())["nodes"]}
    for path in ("9/0", "10/3", "19/4"):
        inner, box = nodes[path], nodes[path.split("/")[0]]
        assert abs(inner["x"] - box["x"]) + inner["w"] / 2 < box["w"] / 2
        assert abs(inner["y"] - box["y"]) + inner["h"] / 2 < box["h"] / 2


def test_a_box_has_room_for_its_title_and_the_name_of_a_kernel_under_it(scene, samples):
    """The title's line ends 19 below the box's edge; a kernel's name begins 20 above its first member."""
    nodes = scene(samples.training_records())["nodes"]
    boxes = {n["id"]: n["y"] - n["h"] / 2 for n in nodes if any(m["id"].startswith(f"{n['id']}/") for m in nodes)}
    assert len(boxes) > 2
    for node in nodes:
        box = node["id"].rpartition("/")[0]
        if box in boxes:
            assert node["y"] - node["h"] / 2 - 20 >= boxes[box] + 19


def test_a_wide_row_is_wrapped(scene):
    variables = {name: Variable(name, (), "float32", False) for name in ["x", *(f"v{i}" for i in range(50))]}
    equations = tuple(Equation(str(i), "sin", "", ("x",), (f"v{i}",)) for i in range(50))
    jaxpr = Jaxpr("f", (), ("x",), (), variables, equations)
    graph = scene([Traced(1, "f", 0.0, 0.1, jaxpr, "", "first call")])
    assert graph["width"] < 14 * 170
    assert overlaps(graph["nodes"]) == []


@pytest.mark.parametrize(("length", "backward"), [(300, False), (300, True), (3000, False)])
def test_what_is_many_times_as_high_as_wide_goes_on_in_columns(scene, length, backward):
    """From top to bottom and from left to right, backward beside what it transposes; light edges lead on."""
    graph = scene([chain(length, backward=backward)])
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert 0.7 < graph["width"] / graph["height"] < 3
    sides = {}
    for node in nodes.values():
        left, right = sides.get(node["column"], (math.inf, -math.inf))
        sides[node["column"]] = min(left, node["x"] - node["w"] / 2), max(right, node["x"] + node["w"] / 2)
        assert node["y"] - node["h"] / 2 > 0 and node["y"] + node["h"] / 2 < graph["height"]
    assert len(sides) > 2 and all(sides[i][1] < sides[i + 1][0] for i in range(len(sides) - 1))
    for i in range(length if backward else 0):
        assert nodes[str(2 * length - 1 - i)]["column"] == nodes[str(i)]["column"]
    for edge in graph["edges"]:
        first, second = nodes[edge["from"]], nodes[edge["to"]]
        assert first["column"] <= second["column"] or second["up"]
        assert edge["kind"] == "far" or first["column"] == second["column"]
        xs = [float(x) for x in re.findall(r"[-0-9.]+(?=,)", edge["d"])]
        if first["column"] == second["column"]:
            left, right = sides[first["column"]]
            assert all(left - 48 < x < right + 48 for x in xs), "an edge is led through another column"


def test_what_is_hardly_higher_than_a_page_is_not_folded(scene):
    graph = scene([chain(50, backward=False)])
    assert graph["height"] > 1400 and all("column" not in node for node in graph["nodes"])


@pytest.mark.parametrize("equations", [400, 20_000])
def test_layout_places_every_equation_of_a_long_program(script, equations):
    program = ProgramStore.of([chain(equations // 2)]).main
    script("(globalThis.big = new Program(a)).groupBy('none') || 0", wire.encode_heavy(program))
    placed = script("layoutProgram(big, new Set()).nodes.filter(n => n.kind === 'equation').length")
    assert placed == len(program.traced.jaxpr.equations)


def test_an_optimizer_starts_level_with_its_gradient_and_takes_its_state_along(scene):
    """x -> y = sin x; its gradient g; then x - (0.9 m + g), where 0.9 m needs no gradient but serves only this."""
    equations = (
        Equation("0", "sin", "", ("x",), ("y",)),
        Equation("1", "cos", "", ("x",), ("c",), "tangent", None, "0"),
        Equation("2", "mul", "", ("1.0:f32[]", "c"), ("g",), "backward", None, "0"),
        Equation("3", "mul", "", ("0.9:f32[]", "m"), ("n",)),
        Equation("4", "add", "", ("n", "g"), ("k",)),
        Equation("5", "sub", "", ("x", "k"), ("z",)),
    )
    variables = {name: Variable(name, (), "float32", False) for name in "xmycgnkz"}
    jaxpr = Jaxpr("f", (), ("x", "m"), ("z",), variables, equations)
    nodes = {n["path"]: n for n in scene([Traced(1, "f", 0.0, 0.1, jaxpr, "", "")])["nodes"] if n["path"]}
    assert [nodes[str(i)]["phase"] for i in range(6)] == [0, 1, 1, 2, 2, 2]
    assert nodes["3"]["y"] < nodes["4"]["y"] < nodes["5"]["y"]
    assert abs(nodes["4"]["y"] - nodes["2"]["y"]) <= 68
    assert nodes["0"]["x"] < nodes["2"]["x"] < nodes["4"]["x"]


def test_a_shared_body_transposes_the_one_in_its_own_call(script, scene):
    """Both calls of g share one body, so both transposed bodies say that they transpose equation 0/0."""

    def body(path, operation, role="forward", of=None):
        inner = (Equation(f"{path}/0", operation, "", ("b",), ("c",), role, None, of),)
        variables = {name: Variable(name, (), "float32", False) for name in "bc"}
        return (Jaxpr("g", (), ("b",), ("c",), variables, inner),)

    equations = (
        Equation("0", "jit", "", ("x",), ("y",), bodies=body("0", "sin")),
        Equation("1", "jit", "", ("y",), ("z",), bodies=body("1", "sin")),
        Equation("2", "jit", "", ("z",), ("p",), "backward", None, "1", 0, body("2", "mul", "backward", "0/0")),
        Equation("3", "jit", "", ("p",), ("q",), "backward", None, "0", 0, body("3", "mul", "backward", "0/0")),
    )
    variables = {name: Variable(name, (), "float32", False) for name in "xyzpq"}
    jaxpr = Jaxpr("f", (), ("x",), ("q",), variables, equations)
    program = ProgramStore.of([Traced(1, "f", 0.0, 0.1, jaxpr, "", "")]).main
    origins = script("[...new Program(a).origins]", wire.encode_heavy(program))
    assert dict(origins) == {"2": "1", "2/0": "1/0", "3": "0", "3/0": "0/0"}


def test_a_target_has_kernels_of_its_own(script):
    """What was asked of the program as it ran here is not what another target's compiler made of it."""
    inner = (Equation("0/0", "sin", "", ("b",), ("c",)),)
    body = Jaxpr("g", (), ("b",), ("c",), {name: Variable(name, (), "float32", False) for name in "bc"}, inner)
    equations = (Equation("0", "jit", "", ("x",), ("y",), bodies=(body,)),)
    variables = {name: Variable(name, (), "float32", False) for name in "xy"}
    traced = Traced(1, "f", 0.0, 0.1, Jaxpr("f", (), ("x",), ("y",), variables, equations), "", "")
    heavy = wire.encode_heavy(ProgramStore.of([traced]).main) | {"kernels": [{"name": "here", "eqns": ["0/0"]}]}
    target = {"target": "tpu", "kernels": [{"name": "there", "eqns": ["0/0"]}]}
    ask = """(() => {
        const program = new Program(a);
        const names = (of) => of.listKernels("0").map((kernel) => kernel.name);
        return [names(program), names(viewForTarget(program, b)), names(program)];
    })()"""
    assert script(ask, heavy, target) == [["here"], ["there"], ["here"]]


def test_what_is_kept_is_said_of_its_equation_alone(script, samples):
    traced, compiled = samples.traced(), samples.compiled()
    path = compiled.kernels[0].equations[0]
    heavy = wire.encode_heavy(ProgramStore.of([traced, replace(compiled, kept=(path,))]).main)
    lines = "describeEquation(new Program(a), path).join()"
    ask = f"[...new Program(a).equations.keys()].filter((path) => {lines}.includes(b))"
    assert script(ask, heavy, "kept in memory: XLA would compute it again in several kernels") == [path]
    marked = (
        "(p => [...p.equations].filter(([, e]) => formatEquation(p, e).title.startsWith('▣ ')).map(([path]) => path))"
    )
    assert script(f"{marked}(new Program(a))", heavy) == [path]
