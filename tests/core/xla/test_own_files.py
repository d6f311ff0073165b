"""Native code is loaded from files that nobody else can have written, and from no others."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
from xlascope import records
from xlascope.settings import setting
from xlascope.xla.cache import cache_folder
from xlascope.xla.system import private_files
from xlascope.xla.system.private_files import ForeignFileError, open_private_folder

STRANGER = 65534
pytestmark = pytest.mark.skipif(os.name == "nt", reason="files have no owners there that Python knows")
root_only = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files to another user")


@pytest.fixture(autouse=True)
def nothing_was_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "_warned", set())


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """The cache is on, in a folder in a folder, with one program in it."""
    path = tmp_path / "above" / "cache"
    with setting("compilation_cache_dir", path):
        assert run() == ("miss", [])
        assert run() == ("hit", [])
        yield path


def run() -> tuple[str, list[str]]:
    """Compile a program; returns whether it was loaded, and the warnings."""
    seen: list[str] = []
    with (
        records.watch(lambda record: seen.append(record.cache) if isinstance(record, records.Compiled) else None),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        assert float(xs.jit(lambda x: x * 3.0)(np.float32(0.5))) == 1.5
    (found,) = seen
    return found, [str(each.message) for each in caught]


def entry(cache: Path) -> Path:
    (found,) = cache.glob("*.executable")
    return found


def test_what_is_made_is_for_the_user_alone(cache: Path) -> None:
    for path in (cache, cache.parent, entry(cache)):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


#: What is done to which path of the cache, and what the warning says of it.
OPENED: dict[str, tuple[Callable[[Path], Path], int, str]] = {
    "the group may write the folder": (lambda cache: cache, 0o770, "written by its group.*chmod go-w"),
    "everybody may write the folder": (lambda cache: cache, 0o707, "written by everybody.*chmod go-w"),
    "a sticky bit does not help the folder": (lambda cache: cache, 0o1777, "written by everybody"),
    "everybody may write the folder above": (lambda cache: cache.parent, 0o777, "above may be written by everybody"),
    "the group may write the folder above": (lambda cache: cache.parent, 0o770, "above may be written by its group"),
    "the group may write the entry": (entry, 0o660, "executable may be written by its group"),
    "everybody may write the entry": (entry, 0o602, "executable may be written by everybody"),
}


@pytest.mark.parametrize("name", OPENED)
def test_what_others_may_write_is_not_loaded(cache: Path, name: str) -> None:
    find, mode, says = OPENED[name]
    path = find(cache)
    path.chmod(mode)
    outcome, said = run()
    assert outcome == "miss"
    assert len(said) == 1
    assert str(cache) in said[0]
    assert re.search(says, said[0]), said
    if path.is_dir():
        assert run() == ("miss", [])  # said once, and nothing is kept there
        path.chmod(0o700)
    assert run() == ("hit", [])  # an entry was replaced by one of our own


OWNED = {"the folder": lambda cache: cache, "the folder above": lambda cache: cache.parent, "the entry": entry}


@root_only
@pytest.mark.parametrize("name", OWNED)
def test_what_another_user_owns_is_not_loaded(cache: Path, name: str) -> None:
    path = OWNED[name](cache)
    os.chown(path, STRANGER, -1)
    outcome, (said,) = run()
    assert outcome == "miss"
    assert f"{path} belongs to user {STRANGER}, and this process to user 0" in said
    assert "compilation_cache_dir" in said
    if path.is_dir():
        os.chown(path, 0, -1)
    assert run() == ("hit", [])


# Folders that others share -------------------------------------------------------------------------------------------


@pytest.fixture
def away_from_tmp() -> Iterator[Path]:
    """A folder that does not lie where everybody may make folders."""
    build = Path(__file__).parents[3] / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        yield Path(folder)


@pytest.fixture
def shared(away_from_tmp: Path) -> Iterator[Path]:
    """A folder with one program, which is shared; the cache has no folder of its own."""
    path = away_from_tmp / "shared"
    with setting("compilation_cache_dir", path):
        assert run() == ("miss", [])
    with setting("compilation_cache_shared_dirs", (path,)):
        yield path


def test_a_shared_folder_is_read_alone(shared: Path, tmp_path: Path) -> None:
    kept = entry(shared).read_bytes()
    assert run() == ("hit", [])
    with setting("compilation_cache_dir", tmp_path / "own"):
        assert run() == ("hit", [])
        assert not (tmp_path / "own").exists()
        entry(shared).write_bytes(kept[:-1])
        outcome, (said,) = run()
        assert outcome == "miss" and "damaged entry: its checksum is wrong; the program is compiled" in said
        assert entry(shared).read_bytes() == kept[:-1] and run() == ("hit", [])  # now the own one
    with setting("enable_compilation_cache", False):
        assert run() == ("miss", [])


def test_several_folders_are_shared_and_one_that_is_missing_is_passed_over(shared: Path, away_from_tmp: Path) -> None:
    with setting("compilation_cache_shared_dirs", os.pathsep.join([str(away_from_tmp / "none"), str(shared)])):
        assert run() == ("hit", [])


@root_only
def test_a_folder_that_another_user_shares(shared: Path) -> None:
    for path in (shared, entry(shared)):
        os.chown(path, STRANGER, -1)
    assert run() == ("hit", [])
    os.chown(entry(shared), STRANGER - 1, -1)
    outcome, (said,) = run()
    assert outcome == "miss" and f"belongs to user {STRANGER - 1}, and the shared folder to user {STRANGER}" in said


@root_only
def test_a_stranger_may_have_made_a_shared_folder_where_everybody_makes_folders(shared: Path) -> None:
    for path in (shared, entry(shared)):
        os.chown(path, STRANGER, -1)
    shared.parent.chmod(0o1777)
    outcome, (said,) = run()
    assert outcome == "miss" and f"{shared.parent} may be written by everybody" in said


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_whoever_may_read_the_folder_may_read_what_it_keeps(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "cache"
    path.mkdir()
    path.chmod(mode)
    with setting("compilation_cache_dir", path):
        assert run() == ("miss", [])
    assert stat.S_IMODE(entry(path).stat().st_mode) == mode & 0o644


def test_shared_folders_are_a_sequence_or_a_text() -> None:
    with setting("compilation_cache_shared_dirs", "/a" + os.pathsep + "/b/../c"):
        assert xs.config.compilation_cache_shared_dirs == ("/a", "/c")
    with setting("compilation_cache_shared_dirs", None):
        assert xs.config.compilation_cache_shared_dirs == ()
    with pytest.raises(ValueError, match="is a sequence of folders, not 3"):
        xs.config.update("compilation_cache_shared_dirs", 3)


# Where folders and files lie -----------------------------------------------------------------------------------------


def test_a_sticky_folder_above_is_fine(cache: Path) -> None:
    cache.parent.chmod(0o1777)
    assert run() == ("hit", [])


def test_a_link_is_followed_to_where_it_leads(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(cache.parent)
    with setting("compilation_cache_dir", tmp_path / "link" / "cache"):
        assert run() == ("hit", [])
        cache.parent.chmod(0o777)
        outcome, (said,) = run()
    assert outcome == "miss"
    assert f"{cache.parent} may be written by everybody" in said


def test_an_entry_that_is_a_link_is_not_loaded(cache: Path, tmp_path: Path) -> None:
    file = entry(cache)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    outcome, said = run()
    assert (outcome, len(said)) == ("miss", 1)
    assert run() == ("hit", [])
    assert not file.is_symlink()


def test_a_folder_that_is_exchanged_while_it_is_open_is_not_read(tmp_path: Path) -> None:
    """What was asked is what is read: a name that stands for something else since then does not matter."""
    mine, others = tmp_path / "cache", tmp_path / "others"
    for path, content in ((mine, b"mine"), (others, b"others")):
        path.mkdir(0o700)
        (path / "file").write_bytes(content)
        (path / "file").chmod(0o600)
    with open_private_folder(str(mine), make=False) as folder:
        mine.rename(tmp_path / "moved")
        others.rename(mine)
        assert folder.read("file") == b"mine"
        folder.write("new", b"x", ".part")
    assert not (mine / "new").exists() and (tmp_path / "moved" / "new").exists()


def test_a_pipe_in_place_of_an_entry_does_not_hold_anybody_up(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.mkfifo(tmp_path / "file", 0o600)
    with open_private_folder(str(tmp_path), make=False) as folder, pytest.raises(ForeignFileError, match="is no file"):
        folder.read("file")


def test_descriptors_are_closed(cache: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    run()
    cache.parent.chmod(0o777)
    run()
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize(
    ("path", "fits"),
    [("/home/me/cache", True), ("/HOME/Me/cache/x", True), ("/home/meandyou/cache", False), ("/srv/cache", False)],
)
def test_where_owners_cannot_be_asked_the_users_profile_counts(
    path: str, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    if fits:
        private_files._require_in_user_profile(path)
    else:
        with pytest.raises(ForeignFileError, match="outside of the user's profile, /home/me; choose a folder in it"):
            private_files._require_in_user_profile(path)


PROGRAM = """
import os, sys, warnings
import xlascope as xs
from xlascope import records
seen = []
records.watch(lambda record: seen.append(record.cache) if isinstance(record, records.Compiled) else None)
xs.jit(lambda x: x - 1)(1.0)  # everything is imported: a stranger may not read the interpreter's files
os.setuid(int(sys.argv[1]))
xs.config.update("compilation_cache_dir", sys.argv[2])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    xs.jit(lambda x: x + 1)(1.0)
print(*seen[1:], *(each.message for each in caught))
"""


@root_only
def test_users_do_not_load_each_others_programs() -> None:
    """Each in a process of its own: the stranger keeps a program, which root does not load."""
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o1777)
        said = []
        for user in (STRANGER, 0):
            command = [sys.executable, "-c", PROGRAM, str(user), f"{above}/cache"]
            said.append(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip())
        shutil.rmtree(f"{above}/cache")
    assert said[0] == "miss"
    assert said[1].startswith("miss") and f"cache belongs to user {STRANGER}, and this process to user 0" in said[1]
