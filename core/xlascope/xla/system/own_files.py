"""Files that nobody else can have written: what is opened is asked, by its descriptor, whose it is.

Native code is loaded from such files. A folder is reached step by step from the root, following no link after the path
was resolved; whoever may write one of the steps could put another folder in its place, unless the step keeps each
user's files apart (``/tmp`` does: its sticky bit). So each step has to belong to the user or to the system's
administrator, the last one and every file in it to the user, and nobody else may write them. Asking a descriptor leaves
nobody time to exchange what a name stands for.

Windows says who may write by access lists, which Python does not read. There a folder has to lie in the user's profile,
which Windows keeps from other users.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from ...runtime.user_files import cache_folder

_WINDOWS = os.name == "nt"
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class ForeignFileError(Exception):
    """Somebody else owns a folder or a file, or may write it; says which, why and what to do."""


class OwnFolder:
    """A folder that is open, and only its user's. Names are of files in it."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        #: None where the system opens no folders.
        self.descriptor = descriptor

    def read(self, name: str) -> bytes:
        """The content of a file, which counts as used now; raises ForeignFileError, FileNotFoundError or OSError."""
        descriptor = os.open(self._place(name), _READ, dir_fd=self.descriptor)
        with open(descriptor, "rb") as file:
            _require_own_file(os.fstat(descriptor), os.path.join(self.path, name))
            content = file.read()
            with contextlib.suppress(OSError):
                os.utime(descriptor if os.utime in os.supports_fd else self._place(name))
        return content

    def require(self, name: str) -> None:
        """Raise ForeignFileError unless a file is one that nobody else can have written, or FileNotFoundError."""
        found = os.stat(self._place(name), dir_fd=self.descriptor, follow_symlinks=False)
        _require_own_file(found, os.path.join(self.path, name))

    def write(self, name: str, content: bytes, part: str) -> None:
        """Make a file appear with its whole content; until then its name ends with ``part``."""
        unfinished = f".{os.urandom(8).hex()}{part}"
        descriptor = os.open(self._place(unfinished), _NEW, 0o600, dir_fd=self.descriptor)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
            os.replace(
                self._place(unfinished), self._place(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor
            )
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(unfinished)
            raise

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._place(name), dir_fd=self.descriptor)

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """The names of all files and what is known of each; those that are removed meanwhile are left out."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as found:
            for each in found:
                with contextlib.suppress(FileNotFoundError):
                    yield each.name, each.stat(follow_symlinks=False)

    def _place(self, name: str) -> str:
        return os.path.join(self.path, name) if self.descriptor is None else name


@contextlib.contextmanager
def own_folder(path: str, *, make: bool) -> Iterator[OwnFolder]:
    """The folder at ``path``, made when ``make`` says so, with all above it, for the user alone.

    Raises ForeignFileError, FileNotFoundError where there is none, and OSError.
    """
    resolved = os.path.realpath(path)
    if _WINDOWS:
        _require_profile(resolved)
        if make:
            os.makedirs(resolved, exist_ok=True)
        yield OwnFolder(resolved, None)
        return
    descriptor = _opened(resolved, make)
    try:
        yield OwnFolder(resolved, descriptor)
    finally:
        os.close(descriptor)


def _opened(path: str, make: bool) -> int:
    """A descriptor of a resolved folder, each step to it looked at."""
    names = [name for name in path.split(os.sep) if name]
    here, descriptor = os.sep, os.open(os.sep, _STEP if names else _FOLDER)
    try:
        for number, name in enumerate(names, 1):
            _require_safe_step(os.fstat(descriptor), here)
            here = os.path.join(here, name)
            flags = _FOLDER if number == len(names) else _STEP
            below = _step(name, flags, descriptor, make)
            os.close(descriptor)
            descriptor = below
        _require_own_folder(os.fstat(descriptor), here)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _step(name: str, flags: int, above: int, make: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(name, 0o700, dir_fd=above)
    return os.open(name, flags, dir_fd=above)


def _require_safe_step(found: os.stat_result, path: str) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise _foreign_owner(found, path)
    if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise _writable_by_others(found, path)


def _require_own_folder(found: os.stat_result, path: str) -> None:
    if found.st_uid != os.geteuid():
        raise _foreign_owner(found, path)
    if found.st_mode & _OTHERS_WRITE:
        raise _writable_by_others(found, path)


def _require_own_file(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ForeignFileError(f"{path} is no file; remove it")
    if not _WINDOWS:
        _require_own_folder(found, path)


def _require_profile(path: str) -> None:
    profile = os.path.realpath(os.path.expanduser("~"))
    if not path.casefold().startswith(profile.casefold().rstrip(os.sep) + os.sep):
        raise ForeignFileError(f"{path} is outside of the user's profile, {profile}; choose a folder in it")


def _foreign_owner(found: os.stat_result, path: str) -> ForeignFileError:
    return ForeignFileError(
        f"{path} belongs to user {found.st_uid}, and this process to user {os.geteuid()}; choose a folder of the "
        "latter's own (compilation_cache_dir)"
    )


def _writable_by_others(found: os.stat_result, path: str) -> ForeignFileError:
    who = "everybody" if found.st_mode & stat.S_IWOTH else "its group"
    return ForeignFileError(f"{path} may be written by {who}; forbid it (chmod go-w {path}), or choose another folder")


def user_folder() -> str | None:
    """Where the cache is when nothing else is said: the user's folder for what can be made again, if there is one."""
    found = cache_folder()
    return None if found is None else str(found / "executables")
