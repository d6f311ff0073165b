"""The folder of a cache: bounds, damage, disks that refuse, and many processes at once."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.settings import setting
from xlascope.xla.cache import cache_folder
from xlascope.xla.cache.cache_folder import CacheFolder, Entry, pack, unpack

HAMMER = Path(__file__).with_name("cache_stress.py")


@pytest.fixture(autouse=True)
def nothing_was_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each warning comes once a process; here each test is a process."""
    monkeypatch.setattr(cache_folder, "_warned", set())


def keys_in(path: Path) -> set[str]:
    return {each.name.removesuffix(".executable") for each in path.glob("*.executable")}


def written(path: Path, *keys: str, size: int = 1000, bound: int = 1 << 30) -> CacheFolder:
    folder = CacheFolder(str(path))
    for key in keys:
        assert folder.write(key, Entry({}, key.encode() * (size // len(key))), bound)
        time.sleep(0.01)  # times of use differ: a file system's clock is coarse
    return folder


def test_what_was_written_is_read_by_another_folder_object(tmp_path: Path) -> None:
    entry = Entry({"seconds": 0.5, "module": "jit_f"}, os.urandom(10_000))
    assert CacheFolder(str(tmp_path / "a" / "b")).write("k", entry, 1 << 30)
    found = CacheFolder(str(tmp_path / "a" / "b")).read("k")
    assert found is not None
    assert (found.data, found.facts) == (entry.data, {"key": "k", **entry.facts})
    assert CacheFolder(str(tmp_path / "a" / "b")).read("other") is None
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 == 0


def test_those_used_last_stay_within_the_bound(tmp_path: Path) -> None:
    names = [f"key{n}" for n in range(10)]
    folder = written(tmp_path, *names)
    assert folder.read("key0") is not None
    assert folder.read("key3") is not None
    time.sleep(0.01)
    written(tmp_path, "new", bound=6000)
    total = sum(each.stat().st_size for each in tmp_path.iterdir())
    assert 4000 < total <= 6000
    assert keys_in(tmp_path) == {"key0", "key3", "new", "key8", "key9"}


def test_the_bound_holds_while_several_write(tmp_path: Path) -> None:
    folders = [CacheFolder(str(tmp_path)) for _ in range(3)]
    for n in range(120):
        assert folders[n % 3].write(f"key{n}", Entry({}, bytes(900 + n)), 20_000)
        assert sum(each.stat().st_size for each in tmp_path.iterdir()) <= 20_000 + 3 * 200
    assert {f"key{n}" for n in range(112, 120)} <= keys_in(tmp_path)


def test_an_entry_above_the_bound_is_not_kept(tmp_path: Path) -> None:
    folder = written(tmp_path, "small", bound=3000)
    assert not folder.write("large", Entry({}, bytes(3000)), 3000)
    assert keys_in(tmp_path) == {"small"}
    assert folder.write("large", Entry({}, bytes(3000)), -1)


def test_what_others_keep_there_stays_and_what_nobody_finishes_goes(tmp_path: Path) -> None:
    for name in ("notes.txt", "jit_f-0123-cache", ".new.part", ".old.part"):
        (tmp_path / name).write_bytes(bytes(5000))
    hours_ago = time.time() - 7200
    os.utime(tmp_path / ".old.part", (hours_ago, hours_ago))
    written(tmp_path, "one", "two", bound=1500)
    assert {each.name for each in tmp_path.iterdir()} == {
        "notes.txt",
        "jit_f-0123-cache",
        ".new.part",
        "two.executable",
    }


def test_a_writer_that_is_interrupted_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        CacheFolder(str(tmp_path)).write("key", Entry({}, b"x"), 1000)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """The cache is on, with one program in it."""
    path = tmp_path / "cache"
    with setting("compilation_cache_dir", path):
        assert run() == ("miss", [])
        yield path


def run(constant: float = 2.0) -> tuple[str, list[str]]:
    """Compile a program and check what it gives; returns whether it was loaded, and the warnings."""
    seen: list[str] = []
    with (
        records.watch(lambda record: seen.append(record.cache) if isinstance(record, records.Compiled) else None),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        result = xs.jit(lambda x: jnp.sin(x) * constant)(np.float32(0.5))
    np.testing.assert_allclose(result, constant * np.sin(0.5), rtol=1e-6)
    (cache,) = seen
    return cache, [str(each.message) for each in caught]


def version_of(content: bytes) -> bytes:
    return content.replace(b"entry 1", b"entry 9", 1)


def nonsense(content: bytes) -> bytes:
    """A whole entry that jaxlib cannot load."""
    return pack(key_of(content), Entry({}, os.urandom(3000)))


def key_of(content: bytes) -> str:
    start = content.index(b'"key": "') + 8
    return content[start : start + 64].decode()


def for_another_device(content: bytes) -> bytes:
    """What would be there if the entry of another kind of device were renamed."""
    key = key_of(content)
    return pack("f" * 64, unpack(key, content))


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda content: b"", "does not begin"),
    "garbage": (lambda content: os.urandom(len(content)), "does not begin"),
    "only the mark": (lambda content: content[:20], "cut off"),
    "half": (lambda content: content[: len(content) // 2], "checksum"),
    "one byte less": (lambda content: content[:-1], "checksum"),
    "one byte more": (lambda content: content + b"x", "checksum"),
    "one bit": (flipped, "checksum"),
    "another version": (version_of, "does not begin as an entry of this version"),
    "another device's": (for_another_device, "another key"),
    "nonsense": (nonsense, "jaxlib cannot load it"),
}


@pytest.mark.parametrize(("damage", "says"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_one_warning_and_replaced(cache: Path, damage: Callable[[bytes], bytes], says: str) -> None:
    (file,) = cache.glob("*.executable")
    good = file.read_bytes()
    file.write_bytes(damage(good))
    outcome, said = run()
    assert outcome == "miss"
    assert len(said) == 1
    assert str(cache) in said[0]
    assert says in said[0]
    assert unpack(key_of(good), file.read_bytes()).facts["device"] == "cpu"
    file.write_bytes(damage(good))
    assert run() == ("miss", [])
    assert run() == ("hit", [])


def test_a_damaged_entry_that_nobody_replaces_is_removed(cache: Path) -> None:
    (file,) = cache.glob("*.executable")
    file.write_bytes(b"?")
    with setting("persistent_cache_min_compile_time_secs", 1000.0):
        assert run()[0] == "miss"
    assert list(cache.iterdir()) == []


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    with setting("compilation_cache_dir", tmp_path / "cache"):
        outcome, said = run()
        assert outcome == "miss"
        assert len(said) == 1
        assert "Not a directory" in said[0]
        assert run() == ("miss", [])
    assert (tmp_path / "cache").read_text() == "not a folder"


def test_a_folder_in_place_of_an_entry(cache: Path) -> None:
    (file,) = cache.glob("*.executable")
    file.unlink()
    file.mkdir()
    outcome, said = run()
    assert (outcome, len(said)) == ("miss", 1)
    assert run() == ("miss", [])
    assert [each.name for each in cache.iterdir()] == [file.name]


REFUSED = """
import os, sys, warnings
import xlascope as xs, xlascope.numpy as jnp
from xlascope import records
seen = []
records.watch(lambda record: seen.append(record.cache) if isinstance(record, records.Compiled) else None)
xs.config.update("compilation_cache_dir", sys.argv[1])
assert float(xs.jit(lambda x: x + 1)(1.0)) == 2.0
{refuse}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in (1, 2, 3):
        assert float(xs.jit(lambda x: x + n)(1.0)) == 1.0 + n
print(*seen, len(caught), *(each.message for each in caught))
"""
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
READ_ONLY = """
for path in (*(os.path.join(sys.argv[1], name) for name in os.listdir(sys.argv[1])), sys.argv[1]):
    os.chmod(path, 0o555)
    if os.geteuid() == 0:
        os.chown(path, 65534, -1)
if os.geteuid() == 0:  # may write anywhere
    os.seteuid(65534)
"""
FILL = """
with open(os.path.join(sys.argv[1], "filler"), "wb", buffering=0) as file:
    try:
        while file.write(bytes(1024)): pass
    except OSError: pass
"""


@pytest.fixture
def open_folder() -> Iterator[str]:
    """A folder whose parents everybody may enter."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        yield path


@pytest.mark.parametrize(
    ("refuse", "says"), [(LIMIT, "File too large"), (READ_ONLY, "Permission denied")], ids=["limit", "read-only"]
)
def test_a_folder_that_takes_no_more_is_still_read(open_folder: str, refuse: str, says: str) -> None:
    folder = os.path.join(open_folder, "cache")
    os.mkdir(folder, 0o755)
    command = [sys.executable, "-c", REFUSED.format(refuse=refuse), folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("miss hit miss miss 1 ")
    assert says in done.stdout
    assert [name for name in os.listdir(folder) if not name.endswith(".executable")] == []


def test_a_full_disk(tmp_path: Path) -> None:
    mount = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    inside = 'mount -t tmpfs -o size=64k,mode=700 tmpfs "$1" && exec "$2" -c "$3" "$1"'
    possible = (
        shutil.which("unshare")
        and not subprocess.run(
            [*mount, 'mount -t tmpfs tmpfs "$1"', "sh", str(tmp_path)], capture_output=True
        ).returncode
    )
    if not possible:
        pytest.skip("mounting a small disk is not allowed here")
    command = [*mount, inside, "sh", str(tmp_path), sys.executable, REFUSED.format(refuse=FILL)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("miss hit miss miss 1 ")
    assert "No space left" in done.stdout


def hammer(folder: Path, seconds: float) -> list[str]:
    """Two processes use one cache while its files are damaged; returns what each says of itself."""
    folder.mkdir()
    chance = random.Random(0)
    command = [sys.executable, str(HAMMER), str(folder), str(seconds)]
    workers = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for n in range(2)
    ]
    while any(worker.poll() is None for worker in workers):
        time.sleep(0.1)
        damage_one(folder, chance)
    told = []
    for worker in workers:
        out, err = worker.communicate()
        assert worker.returncode == 0, err
        told.append(out)
    return told


def damage_one(folder: Path, chance: random.Random) -> None:
    files = list(folder.glob("*.executable"))
    if len(files) < 2:
        return
    file, other = chance.sample(files, 2)
    try:
        size = file.stat().st_size
        match chance.randrange(6):
            case 0:
                os.truncate(file, chance.randrange(size + 1))
            case 1:
                file.unlink()
            case 2:
                file.write_bytes(chance.randbytes(size))
            case 3:
                with file.open("r+b") as opened:
                    opened.seek(chance.randrange(size))
                    opened.write(b"garbage")
            case 4:
                shutil.copyfile(other, file)
            case 5:
                shutil.copyfile(other, folder / "copy")
                os.replace(folder / "copy", file)
    except (FileNotFoundError, ValueError):  # somebody removed it
        pass


def check_hammer(told: list[str]) -> None:
    for text in told:
        counts = dict(part.split("=") for part in text.split())
        assert int(counts["wrong"]) == 0
        assert int(counts["hits"]) >= 5
        assert int(counts["misses"]) >= 5
        assert int(counts["warnings"]) >= 1
    print(*told)


def test_two_processes_and_random_damage(tmp_path: Path) -> None:
    check_hammer(hammer(tmp_path / "cache", 3.0))


@pytest.mark.slow
def test_two_processes_and_random_damage_for_longer(tmp_path: Path) -> None:
    check_hammer(hammer(tmp_path / "cache", 90.0))
