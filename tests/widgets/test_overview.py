"""The first sight of a program: a few boxes, each a thing that its author wrote, all of them to be seen at once."""

import pytest
from tests.widgets import programs

from xlascope_widgets import wire
from xlascope_widgets.program_store import ProgramStore

# What is seen first in a pane of a size: boxes with pass, title and place, and the inputs' names.
SEEN = """(() => {
    const program = new Program(a);
    program.groupBy("auto");
    const open = openAtFirst(program, b);
    const room = computeRoom(program, open, b.width);
    const scene = layoutProgram(program, open, room);
    const leaves = scene.nodes.filter(n => n.path && !n.inner);
    const box = n => ({
        pass: program.getPass(n.path), title: n.title, sub: n.sub, x: n.x, y: n.y, w: n.w, h: n.h, depth: n.depth,
    });
    return {
        width: scene.width, height: scene.height, boxes: leaves.map(box),
        frames: scene.nodes.filter(n => n.inner).map(n => n.title),
        ends: scene.nodes.filter(n => !n.path).map(n => n.title),
    };
})()"""

WIDE = {"width": 1380, "height": 640}
PROGRAMS = ["digits", "transformer", "lstm", "sampler", "unrolled"]


@pytest.fixture(scope="module")
def seen(script):
    """`seen(name, screen)`: what is seen first of a program."""
    sent = {}

    def see(name, screen):
        if name not in sent:
            sent[name] = wire.encode_heavy(ProgramStore.of(getattr(programs, name)()).main)
        return script(SEEN, sent[name], screen)

    return see


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_sight_is_some_boxes_that_fit(seen, name):
    found = seen(name, WIDE)
    assert 6 <= len(found["boxes"]) <= 30
    assert found["width"] <= WIDE["width"] and found["height"] <= WIDE["height"]


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("digits", {"dot + add + tanh …", "mul + power + add", "mul + sqrt + add …"}),
        ("transformer", {"layer × 6", "loss: gather …", "loss: dot …", "norm", "update"}),
        ("lstm", {"dot + add", "split", "dot + sub + power …"}),
        ("sampler", {"one × 10 steps", "normal", "select_n"}),
        ("unrolled", {"block × 199"}),
    ],
)
def test_boxes_are_what_was_written(seen, name, titles):
    assert titles <= {box["title"] for box in seen(name, WIDE)["boxes"]}


def test_loops_that_matter_are_open(seen):
    assert seen("lstm", WIDE)["frames"].count("cell × 50 steps") == 2
    assert seen("sampler", WIDE)["frames"][0] == "step × 100 steps"


@pytest.mark.parametrize("name", ["digits", "transformer"])
def test_forward_stands_beside_backward_beside_update(seen, name):
    boxes = seen(name, WIDE)["boxes"]
    sides = {
        kind: [box for box in boxes if box["pass"] == kind and not box["depth"]]
        for kind in ("forward", "backward", "update")
    }
    rightmost = [max(box["x"] for box in sides[kind]) for kind in ("forward", "backward")]
    assert rightmost[0] < min(box["x"] for box in sides["backward"])
    assert rightmost[1] < min(box["x"] for box in sides["update"])


def test_what_is_made_of_arguments_alone_stands_where_it_is_used(seen):
    """The counter of steps is a result, too; it belongs to the update all the same."""
    for name in ("digits", "transformer"):
        (counter,) = [box for box in seen(name, WIDE)["boxes"] if box["title"].startswith("add 1.0")]
        assert counter["pass"] == "update"


def test_constants_are_no_boxes_of_their_own(seen):
    assert not [box for box in seen("lstm", WIDE)["boxes"] if box["title"] == "broadcast"]


def test_what_a_backward_loop_adds_up_is_backward(seen):
    (total,) = [box for box in seen("lstm", WIDE)["boxes"] if "line 124" in box["sub"]]
    assert total["pass"] == "backward"


def test_layers_stand_level_with_their_gradient(seen):
    layers = [box for box in seen("transformer", WIDE)["boxes"] if box["title"] == "layer × 6"]
    assert [box["pass"] for box in layers] == ["forward", "backward"]
    assert layers[0]["y"] == layers[1]["y"]


@pytest.mark.parametrize("name", ["digits", "transformer"])
def test_arguments_are_known_by_their_names(seen, name):
    ends = seen(name, WIDE)["ends"]
    assert any(end.startswith("params ·") for end in ends) or any(end.startswith("params[") for end in ends)
    assert len([end for end in ends if "result" not in end]) <= 9


@pytest.mark.parametrize("width", [680, 1080, 1380, 1900])
@pytest.mark.parametrize("name", ["digits", "transformer", "lstm"])
def test_it_fits_whatever_the_width(seen, name, width):
    found = seen(name, {"width": width, "height": 640})
    assert found["width"] <= width
    for one in found["boxes"]:
        for other in found["boxes"]:
            if one is not other:
                assert (
                    abs(one["x"] - other["x"]) >= (one["w"] + other["w"]) / 2 or abs(one["y"] - other["y"]) >= one["h"]
                )


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_level_that_opens_has_few_boxes_and_all_equations(script, name):
    """Down to the equations no level has more boxes than can be read, and none loses an equation."""
    walk = """(() => {
        const program = new Program(a);
        program.groupBy("auto");
        let most = 0, lost = 0, levels = 0;
        const visit = (jaxpr, depth) => {
            const shown = program.groupedLevel(jaxpr).equations;
            most = Math.max(most, shown.length);
            for (const box of shown.slice(0, depth > 2 ? 3 : 24)) {
                for (const body of box.bodies ?? []) {
                    levels++;
                    const inner = visit(body, depth + 1);
                    if (box.members && inner !== box.members.length) lost++;
                }
            }
            return shown.reduce((sum, box) => sum + (box.members?.length ?? 1), 0);
        };
        return [visit(program.heavy.jaxpr, 0) === program.heavy.jaxpr.equations.length, most, lost, levels];
    })()"""
    heavy = wire.encode_heavy(ProgramStore.of(getattr(programs, name)()).main)
    whole, most, lost, levels = script(walk, heavy)
    assert whole and not lost and levels
    assert most <= 26


def test_shares_of_the_boxes_add_up(script, samples):
    """Measured parts of the boxes are, together, the part of all kernels' time that has an equation."""
    ledger = ProgramStore.of(samples.training_records())
    parts = """(() => {
        const program = new Program(a, b);
        program.groupBy("auto");
        const boxes = program.groupedLevel(program.heavy.jaxpr).equations;
        const total = boxes.reduce((sum, box) => sum + program.getTimeFraction(box.path), 0);
        return [total, program.account.attributed, boxes.length];
    })()"""
    total, attributed, boxes = script(parts, wire.encode_heavy(ledger.main), wire.encode_light(ledger.main))
    assert 1 < boxes < 25
    assert total == pytest.approx(attributed, rel=1e-3)


def test_a_program_that_was_not_measured_says_its_work(seen):
    assert any("FLOP" in box["sub"] for box in seen("digits", WIDE)["boxes"])
    assert not any("%" in box["sub"] for box in seen("digits", WIDE)["boxes"])


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        (["broadcast_in_dim", "dot_general", "add", "tanh"], "dot + add + tanh"),
        (["mul", "sub", "exp", "dot_general", "add"], "mul + sub + dot …"),
        (["reshape", "transpose"], "reshape + transpose"),
        (["reduce_sum", "add_any", "add"], "sum + add"),
        (["_logsumexp", "sub"], "logsumexp + sub"),
        ([], ""),
    ],
)
def test_what_operations_do_in_words(script, operations, words):
    assert script("listVerbs(a)", operations) == words
