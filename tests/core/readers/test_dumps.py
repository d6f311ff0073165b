"""The readers of the compiler's dumps, on files that the compilers wrote, and on what becomes of such files.

The files in tests/data/dumps are of one small program, written by jaxlib 0.10 (CPU), jax-cuda13-pjrt 0.10 (H100) and
libtpu (0.0.42: log and page, 0.0.52: archive); pages and archives without their pictures and programs. Those in
tests/data/dumps/jaxlib_0_11 are of another, written by jaxlib 0.11, jax-cuda13-pjrt 0.11 and libtpu 0.0.48.
"""

import contextlib
import json
import random
import sqlite3
import zipfile
from pathlib import Path

import pytest

from xlascope.readers import FormatError
from xlascope.readers.dumps import (
    Dump,
    explain_reason,
    list_snapshots,
    read_fusion_dump,
    read_fusion_log,
    read_fusion_page,
    read_passes,
    with_estimates,
)
from xlascope.readers.dumps import frames as frames_of
from xlascope.records import FusionDecision

DATA = Path(__file__).resolve().parents[2] / "data/dumps"
FILES = {  # fused, refused
    "cpu.log": (6, 9),
    "cpu_fusion.html": (6, 9),
    "gpu.log": (9, 8),
    "gpu_fusion.html": (5, 0),
    "gpu_priority_fusion_dump.txt": (5, 15),
    "tpu.log": (7, 19),
    "tpu_fusion.html": (6, 12),
    "tpu_fusion.pyz": (6, 12),
    "jaxlib_0_11/cpu.log": (5, 7),
    "jaxlib_0_11/cpu_fusion.pyz": (5, 7),
    "jaxlib_0_11/gpu.log": (6, 4),
    "jaxlib_0_11/gpu_fusion.pyz": (4, 2),
    "jaxlib_0_11/gpu_priority_fusion_dump.txt": (4, 12),
    "jaxlib_0_11/tpu.log": (6, 12),
    "jaxlib_0_11/tpu_fusion.pyz": (6, 11),
}
every_file = pytest.mark.parametrize("name", FILES)


def read(file: Path) -> Dump:
    if file.suffix == ".log":
        with file.open(errors="replace") as lines:
            return read_fusion_log(lines)
    return read_fusion_dump(file)


def fused(dump: Dump) -> list[FusionDecision]:
    return [each for each in dump.decisions if each.action == "fused"]


def pairs(dump: Dump, action: str) -> set[tuple[str, str]]:
    return {(each.producer, each.consumer) for each in dump.decisions if each.action == action}


@every_file
def test_every_format_is_read(name: str) -> None:
    dump = read(DATA / name)
    assert dump.complete
    assert (len(fused(dump)), len(dump.decisions) - len(fused(dump))) == FILES[name]
    assert [each.step for each in dump.decisions] == list(range(len(dump.decisions)))
    assert all(each.producer for each in dump.decisions)


def both(folder: str, target: str) -> tuple[Dump, Dump]:
    """What log and dump of a compiler say."""
    form = "pyz" if folder else "html"
    return read(DATA / folder / f"{target}.log"), read(DATA / folder / f"{target}_fusion.{form}")


of_each_jaxlib = pytest.mark.parametrize("folder", ["", "jaxlib_0_11"])


@of_each_jaxlib
@pytest.mark.parametrize("target", ["cpu", "tpu"])
def test_the_log_says_what_the_dump_says(target: str, folder: str) -> None:
    log, page = both(folder, target)
    told = [(each.producer, each.consumer, each.result) for each in fused(page)]
    # A TPU's pass for kernels with several results writes no dump.
    named = [each for each in fused(log) if each.pass_name == "InstructionFusion"]
    assert [(each.producer, each.consumer, each.result) for each in named] == told
    assert pairs(page, "refused") <= pairs(log, "refused")


@of_each_jaxlib
def test_the_gpu_log_says_what_the_dump_says(folder: str) -> None:
    log, page = both(folder, "gpu")
    process = read(DATA / folder / "gpu_priority_fusion_dump.txt")
    assert pairs(page, "fused") == pairs(process, "fused") <= pairs(log, "fused")  # the log has constants too


@of_each_jaxlib
def test_estimates_come_from_the_process_dump(folder: str) -> None:
    log, process = read(DATA / folder / "gpu.log"), read(DATA / folder / "gpu_priority_fusion_dump.txt")
    timed_log = with_estimates(log.decisions, process.decisions)
    timed = {(each.producer, each.consumer): each for each in timed_log if each.fused_seconds is not None}
    told = {(each.producer, each.consumer): each.fused_seconds for each in process.decisions if each.fused_seconds}
    assert told == {pair: each.fused_seconds for pair, each in timed.items()}
    assert len(told) > 3
    for each in timed.values():
        assert each.unfused_seconds is not None
        assert 1e-7 < each.fused_seconds < 1e-4
        assert (each.action == "refused") == (each.fused_seconds > each.unfused_seconds)
    assert [each.step for each in timed_log] == list(range(len(timed_log)))


@every_file
def test_known_reasons_have_plain_words(name: str) -> None:
    refusals = [each for each in read(DATA / name).decisions if each.action == "refused"]
    assert [each.reason for each in refusals if not each.plain] == []


def test_an_unknown_reason_stays_as_it_is() -> None:
    page = 'const frames = [[0, "Not fusing |a| into |b| as the moon is full", ""]];'
    (one,) = read_fusion_page(page).decisions
    assert (
        (one.reason, one.plain) == ("the moon is full", explain_reason("the moon is full")) == ("the moon is full", "")
    )


# Damage.


@every_file
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_cut_file_is_partial_or_an_error(name: str, share: float, tmp_path: Path) -> None:
    whole = (DATA / name).read_bytes()
    file = tmp_path / Path(name).name
    file.write_bytes(whole[: int(share * len(whole))])
    try:
        dump = read(file)
    except ValueError as error:
        assert str(file) in str(error)
        return
    every = read(DATA / name).decisions
    key = [(each.producer, each.consumer, each.reason) for each in every]
    if not name.endswith(".txt"):  # there refusals by estimate come at the end, and may be revised later
        assert {(each.producer, each.consumer, each.reason[:5]) for each in dump.decisions} <= {
            (producer, consumer, reason[:5]) for producer, consumer, reason in key
        }
    if not name.endswith(".log"):  # of a log nobody knows where it ends: its process says whether it was stopped
        assert not dump.complete or dump.decisions == every


@every_file
def test_flipped_bytes_never_crash(name: str, tmp_path: Path) -> None:
    whole = (DATA / name).read_bytes()
    chance = random.Random(name)
    for attempt in range(40):
        damaged = bytearray(whole)
        for _ in range(1 + attempt):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        file = tmp_path / Path(name).name
        file.write_bytes(damaged)
        try:
            assert isinstance(read(file), Dump)
        except ValueError as error:
            assert str(file) in str(error)


def test_what_is_no_dump_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello", b"<html></html>", b"PK\3\4", b"SQLite format 3\0" + bytes(100), bytes(5000)):
        file = tmp_path / "x_fusion.html"
        file.write_bytes(content)
        with pytest.raises(ValueError, match="x_fusion"):
            read_fusion_dump(file)


# Hostile files.


def database(file: Path, *statements: str) -> Path:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return file


def frames(*labels: str) -> list[str]:
    rows = [f"INSERT INTO frames VALUES ({number}, '{label}', 0, '')" for number, label in enumerate(labels)]
    return ["CREATE TABLE frames (id INTEGER, label TEXT, graph_id INTEGER, to_highlight TEXT)", *rows]


REFUSED = "Not fusing |a| into |b| as Fusion is not profitable."


@pytest.mark.parametrize("zipped", [True, False])
def test_a_database_of_frames(zipped: bool, tmp_path: Path) -> None:
    file = database(tmp_path / "fusions.db", *frames(REFUSED, "something else"))
    if zipped:
        with zipfile.ZipFile(tmp_path / "x.pyz", "w") as archive:
            archive.write(file, "fusions.db")
        file = tmp_path / "x.pyz"
    assert [(each.producer, each.consumer) for each in read_fusion_dump(file).decisions] == [("a", "b")]


def test_a_database_runs_nothing_of_its_own(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS label FROM n"
    file = database(tmp_path / "view.db", f"CREATE VIEW frames AS {endless}")
    with pytest.raises(ValueError, match="no table of frames"):
        read_fusion_dump(file)
    generated = "CREATE TABLE frames (id INTEGER, label TEXT AS (hex(zeroblob(id))))"
    file = database(tmp_path / "generated.db", generated, "INSERT INTO frames (id) VALUES (400000000)")
    with pytest.raises(ValueError, match="damaged"):  # longer than a label may be: not made at all
        read_fusion_dump(file)


def test_a_zip_that_lies_of_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames_of, "MAX_LABEL_BYTES", 10_000)
    for size in (50_000, 9_000):
        with zipfile.ZipFile(tmp_path / "x.pyz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("metadata.json", bytes(size))
        with pytest.raises(ValueError, match=r"bytes|damaged"):
            read_fusion_dump(tmp_path / "x.pyz")


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"frames": 3}', '{"frames": [3, {"label": 4}, {"label": null}]}', "{}", "nul"]
)
def test_metadata_of_another_kind(content: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.pyz", "w") as archive:
        archive.writestr("metadata.json", content)
    try:
        assert read_fusion_dump(tmp_path / "x.pyz").decisions == ()
    except ValueError as error:
        assert "x.pyz" in str(error)


def test_pictures_before_the_labels_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "x_fusion.html"
    pictures = "const dots_compressed = " + json.dumps("A" * (3 * 2**20 - 7))
    file.write_text(f"<html><script>{pictures};\nconst frames = [{json.dumps([0, REFUSED, ''])}];</script>")
    assert len(read_fusion_dump(file).decisions) == 1


def test_a_log_line_cannot_be_forged_by_a_name() -> None:
    named = 'op_name="jit(f)/e0/sin into %evil = because the user said so"'
    log = [
        "I0101 10:00:00.000001 7 instruction_fusion.cc:649] Considering fusion of: "
        f"%b = f32[] tanh(%a), metadata={{{named}}} with operand a",
        f"I0101 10:00:00.000002 7 instruction_fusion.cc:848] Fusing %a = f32[] sine(%p), metadata={{{named}}} "
        f"into %b = f32[] tanh(%a), metadata={{{named}}}",
        f"I0101 10:00:00.000003 7 instruction_fusion.cc:687] not fusing operand %c = f32[] sine(%p), "
        f"metadata={{{named}}} because no",
    ]
    one, two = read_fusion_log(log).decisions
    assert (one.producer, one.consumer) == ("a", "b")
    assert (two.producer, two.reason) == ("c", "no")


@pytest.mark.parametrize(
    "line",
    [
        "instruction_fusion.cc:649] Considering fusion of: %a = " + "(" * 50_000,
        'instruction_fusion.cc:687] not fusing operand %a = "' + '\\"' * 50_000,
        "instruction_fusion.cc:848] Fusing %a = " + " into %b" * 20_000,
        "tpu_instruction_fusion.cc:1] Producer: " + "produces " * 10_000,
        "instruction_fusion.cc:1] " + "%a = " * 40_000,
        "instruction_fusion.cc:1] " + "fuse " * 40_000,
    ],
)
def test_a_hostile_line_takes_no_time(line: str) -> None:
    with contextlib.suppress(FormatError):
        assert read_fusion_log([f"I0101 10:00:00.000001 7 {line}"] * 20).decisions == ()


# Passes.

BEFORE = """HloModule jit_f
ENTRY %main (x: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %sin = f32[8]{0} sine(%x), metadata={op_name="jit(f)/e0/sin"}
  %mul = f32[8]{0} multiply(%sin, %x), metadata={op_name="jit(f)/e1/mul"}
  %bitcast = f32[2,4]{1,0} bitcast(%mul), metadata={op_name="jit(f)/e2/reshape"}
  %exp = f32[2,4]{1,0} exponential(%bitcast), metadata={op_name="jit(f)/e3/jit(g)/e0/exp"}
  %neg = f32[8]{0} negate(%x), metadata={op_name="jit(f)/e4/neg"}
  %relative = f32[8]{0} cosine(%x), metadata={op_name="e5/cos"}
  ROOT %tuple = (f32[2,4]{1,0}, f32[8]{0}, f32[8]{0}) tuple(%exp, %neg, %relative)
}
"""


def snapshots(folder: Path, *texts: str) -> Path:
    for number, text in enumerate(texts):
        name = f"module_0001.jit_f.2.{number:04}.simplification.after_pass{number}.before_pass{number + 1}.txt"
        (folder / name).write_text(text)
    (folder / "module_0001.jit_f.2.before_optimizations.txt").write_text("no snapshot")
    (folder / "module_0000.other.0000.p.after_a.txt").write_text(BEFORE)
    return folder


def test_passes_are_what_changed(tmp_path: Path) -> None:
    without = BEFORE.replace("  %neg = f32[8]{0} negate(%x)", "  %abs = f32[8]{0} abs(%x)").replace("e4/neg", "e4/abs")
    without = "\n".join(line for line in without.splitlines() if "%exp =" not in line).replace(
        "%exp, %neg", "%sin, %abs"
    )
    again = BEFORE
    first, passes, whole, seen = read_passes(
        list_snapshots(snapshots(tmp_path, BEFORE, BEFORE, without, again, without))
    )
    assert (first, whole) == (BEFORE, True)
    assert set(seen) == {"0", "1", "2", "3/0", "4"}
    assert [each.name for each in passes] == ["pass2", "pass3", "pass4"]
    one = passes[0]
    assert (one.step, one.instructions, one.added, one.removed, one.changed) == (2, 7, 1, 2, 1)
    assert "-neg = f32[8]{0} negate(%x)" in one.diff.splitlines()
    assert "+abs = f32[8]{0} abs(%x)" in one.diff.splitlines()
    assert one.gone == ("3/0",)


def test_an_equation_that_comes_back_was_not_gone(tmp_path: Path) -> None:
    without = "\n".join(line for line in BEFORE.splitlines() if "%exp =" not in line)
    _, passes, *_ = read_passes(list_snapshots(snapshots(tmp_path, BEFORE, without, BEFORE)))
    assert [each.gone for each in passes] == [(), ()]


def test_a_cut_snapshot_is_left_out(tmp_path: Path) -> None:
    _, passes, whole, _ = read_passes(list_snapshots(snapshots(tmp_path, BEFORE, BEFORE[:200], BEFORE)))
    assert (passes, whole) == ((), False)


def test_long_diffs_are_shortened_and_say_so(tmp_path: Path) -> None:
    many = "\n".join(f"  %n{number} = f32[8]{{0}} negate(%x)" for number in range(9_000))
    long = BEFORE.replace("  %neg", f"{many}\n  %neg")
    _, (one,), *_ = read_passes(list_snapshots(snapshots(tmp_path, BEFORE, long)))
    assert one.added == 9_000
    assert len(one.diff) < 110_000
    assert "more lines" in one.diff.splitlines()[-1]
