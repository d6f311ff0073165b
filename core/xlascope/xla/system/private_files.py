"""Files that no other user can have written: ownership is checked on open descriptors.

Native code is loaded from such files. A folder is reached step by step from the root, following no link after the
path was resolved: a user who may write one of the steps could replace a folder in it, unless the step keeps each
user's files apart (``/tmp`` does: its sticky bit). So each step has to belong to the user or to the system's
administrator, the last one and every file in it to the user, and no other user may write them. Checking a
descriptor leaves no time to exchange the file behind a name.

A folder that the user names as shared is read alone, and may belong to somebody else: to whom it belongs may write it
and the steps to it, and nobody beside them. It may not lie where everybody may make folders, since a stranger could
have made it.

Windows controls write access by access lists, which Python does not read. There a folder has to lie in the user's
profile, which Windows protects from other users.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from ...runtime.user_files import cache_folder

_WINDOWS = os.name == "nt"
_DIRECTORY_STEP_FLAGS = (
    getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_DIRECTORY_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_OTHERS_WRITE_MODE = stat.S_IWGRP | stat.S_IWOTH


class ForeignFileError(Exception):
    """Error for a folder or file that another user owns or may write; says which, why and what to do."""


class PrivateFolder:
    """Open folder that only its owner can write; the methods take names of files in it.

    ``descriptor`` is the folder's file descriptor, None where the system cannot open folders. ``owner`` is the number
    of the user to whom the folder and its files belong, None for this process's user.
    """

    def __init__(self, path: str, descriptor: int | None, owner: int | None = None) -> None:
        self.path = path
        #: None where the system cannot open folders.
        self.descriptor = descriptor
        self._owner = owner

    def read(self, name: str) -> bytes:
        """Return the content of a file and mark it as used now, if this user may.

        Raises ForeignFileError, FileNotFoundError or OSError.
        """
        descriptor = os.open(self._path_of(name), _READ_FLAGS, dir_fd=self.descriptor)
        with open(descriptor, "rb") as file:
            _require_private_file(os.fstat(descriptor), os.path.join(self.path, name), self._owner)
            content = file.read()
            with contextlib.suppress(OSError):
                os.utime(descriptor if os.utime in os.supports_fd else self._path_of(name))
        return content

    def require(self, name: str) -> None:
        """Raise ForeignFileError if another user can have written the file, FileNotFoundError if it is missing."""
        status = os.stat(self._path_of(name), dir_fd=self.descriptor, follow_symlinks=False)
        _require_private_file(status, os.path.join(self.path, name), self._owner)

    def write(self, name: str, content: bytes, part: str) -> None:
        """Write a file atomically: under another name that ends with ``part`` until it is complete.

        Whoever may read the folder may read the file.
        """
        unfinished = f".{os.urandom(8).hex()}{part}"
        descriptor = os.open(self._path_of(unfinished), _CREATE_FLAGS, 0o600, dir_fd=self.descriptor)
        try:
            with open(descriptor, "wb") as file:
                if readers := self._readers():
                    os.fchmod(descriptor, 0o600 | readers)
                file.write(content)
            os.replace(
                self._path_of(unfinished), self._path_of(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor
            )
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(unfinished)
            raise

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._path_of(name), dir_fd=self.descriptor)

    def list_files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the name and status of every file; files that are removed meanwhile are left out."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)

    def _readers(self) -> int:
        """Return the bits of a file's mode that let the folder's group and all others read it, where they may."""
        return 0 if self.descriptor is None else os.fstat(self.descriptor).st_mode & (stat.S_IRGRP | stat.S_IROTH)

    def _path_of(self, name: str) -> str:
        return os.path.join(self.path, name) if self.descriptor is None else name


@contextlib.contextmanager
def open_private_folder(path: str, *, make: bool) -> Iterator[PrivateFolder]:
    """Open the folder at ``path`` for a ``with`` block; ``make`` creates it with all parents, for this user alone.

    Raises ForeignFileError if another user owns or may write it, FileNotFoundError if it does not exist, and OSError.
    """
    resolved = os.path.realpath(path)
    if _WINDOWS:
        _require_in_user_profile(resolved)
        if make:
            os.makedirs(resolved, exist_ok=True)
        yield PrivateFolder(resolved, None)
        return
    descriptor = _open_verified(resolved, make)
    try:
        yield PrivateFolder(resolved, descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def open_shared_folder(path: str) -> Iterator[PrivateFolder]:
    """Open the folder of another user for a ``with`` block, to read files that this user has written there.

    Raises ForeignFileError if a third user may write it, FileNotFoundError if it does not exist, and OSError.
    """
    resolved = os.path.realpath(path)
    if _WINDOWS:
        raise ForeignFileError(f"who may write {resolved} is unknown on Windows; folders are shared on other systems")
    owner = os.stat(resolved).st_uid
    descriptor = _open_verified(resolved, make=False, owner=owner)
    try:
        yield PrivateFolder(resolved, descriptor, owner)
    finally:
        os.close(descriptor)


def _open_verified(path: str, make: bool, owner: int | None = None) -> int:
    """Open a resolved folder, checking each step of its path, and return the file descriptor.

    ``make`` creates what is missing; ``owner`` is the user who shares the folder, None for this process's own. Raises
    ForeignFileError, FileNotFoundError or OSError.
    """
    names = [name for name in path.split(os.sep) if name]
    prefix, descriptor = os.sep, os.open(os.sep, _DIRECTORY_STEP_FLAGS if names else _DIRECTORY_FLAGS)
    try:
        for number, name in enumerate(names, 1):
            _require_safe_step(os.fstat(descriptor), prefix, owner)
            prefix = os.path.join(prefix, name)
            flags = _DIRECTORY_FLAGS if number == len(names) else _DIRECTORY_STEP_FLAGS
            next_descriptor = _open_step(name, flags, descriptor, make)
            os.close(descriptor)
            descriptor = next_descriptor
        _require_private_folder(os.fstat(descriptor), prefix, owner)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open_step(name: str, flags: int, above: int, make: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):  # another process created it first
        os.mkdir(name, 0o700, dir_fd=above)
    return os.open(name, flags, dir_fd=above)


def _require_safe_step(status: os.stat_result, path: str, owner: int | None) -> None:
    if status.st_uid not in (0, os.geteuid(), owner):
        raise _foreign_owner(status, path, owner)
    keeps_users_apart = status.st_mode & stat.S_ISVTX and owner in (None, 0, os.geteuid())
    if status.st_mode & _OTHERS_WRITE_MODE and not keeps_users_apart:
        raise _writable_by_others(status, path)


def _require_private_folder(status: os.stat_result, path: str, owner: int | None) -> None:
    if status.st_uid != (os.geteuid() if owner is None else owner):
        raise _foreign_owner(status, path, owner)
    if status.st_mode & _OTHERS_WRITE_MODE:
        raise _writable_by_others(status, path)


def _require_private_file(status: os.stat_result, path: str, owner: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ForeignFileError(f"{path} is no file; remove it")
    if not _WINDOWS:
        _require_private_folder(status, path, owner)


def _require_in_user_profile(path: str) -> None:
    profile = os.path.realpath(os.path.expanduser("~"))
    if not path.casefold().startswith(profile.casefold().rstrip(os.sep) + os.sep):
        raise ForeignFileError(f"{path} is outside of the user's profile, {profile}; choose a folder in it")


def _foreign_owner(status: os.stat_result, path: str, owner: int | None) -> ForeignFileError:
    if owner is not None:
        return ForeignFileError(
            f"{path} belongs to user {status.st_uid}, and the shared folder to user {owner}; whoever shares it has to "
            "own what it holds, and the folders above it, or the administrator these"
        )
    return ForeignFileError(
        f"{path} belongs to user {status.st_uid}, and this process to user {os.geteuid()}; choose a folder of the "
        "latter's own (compilation_cache_dir)"
    )


def _writable_by_others(status: os.stat_result, path: str) -> ForeignFileError:
    who = "everybody" if status.st_mode & stat.S_IWOTH else "its group"
    return ForeignFileError(f"{path} may be written by {who}; forbid it (chmod go-w {path}), or choose another folder")


def default_cache_folder() -> str | None:
    """Return the path of the default folder for compiled programs, in the user's cache directory; None without one."""
    base = cache_folder()
    return None if base is None else str(base / "executables")
