"""Folders and files that only this user can write to: code is loaded from no others."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from helicoid.compiler.locks import new_lock
from helicoid.errors import PerformanceWarning, warn

_spare: Path | None = None
_spare_lock = new_lock()


class Refused(Exception):
    """A folder or file to which others can write, or which others own."""


def private_folder(folder: Path) -> Path:
    """The folder, made if it is missing, without symbolic links; refused unless it is private."""
    with contextlib.suppress(FileExistsError):
        os.makedirs(folder, mode=0o700)
    _check_owner(folder, os.lstat(folder))
    real = Path(os.path.realpath(folder))
    check_private(real, os.stat(real))
    if not real.is_dir():
        raise Refused(f"{folder} is no folder")
    for parent in {*folder.parents, *real.parents}:
        _check_parent(folder, parent, os.stat(parent))
    return real


def _check_parent(folder: Path, parent: Path, status: os.stat_result) -> None:
    """Refuse a parent in which others can replace the folder: what was verified is what is loaded."""
    if not hasattr(os, "geteuid"):
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise Refused(f"{folder} can be replaced by the user number {status.st_uid}, who owns {parent}")
    mode = status.st_mode
    open_to_group = mode & stat.S_IWGRP and not is_private_group(status.st_gid)
    if (mode & stat.S_IWOTH or open_to_group) and not mode & stat.S_ISVTX:
        raise Refused(f"{folder} can be replaced by others, who can write to {parent}")


def is_private_group(gid: int) -> bool:
    """Whether this group has this user as its only member, as some systems create for each user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _check_owner(path: Path, status: os.stat_result) -> None:
    # Root can write anywhere anyway; a cache that an image brings along belongs to it.
    if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0):
        raise Refused(f"{path} belongs to another user (number {status.st_uid})")


def check_private(path: Path, status: os.stat_result) -> None:
    """Refuse what another user owns or can write to."""
    _check_owner(path, status)
    if hasattr(os, "geteuid") and status.st_mode & 0o022:
        raise Refused(f"others can write to {path} (mode {stat.S_IMODE(status.st_mode):04o}; chmod go-w)")


def temporary_folder(reason: str) -> Path:
    """The folder of this process in place of the cache; created, with a warning, when first needed."""
    global _spare
    with _spare_lock:  # several threads compile
        if _spare is None or not _spare.is_dir():
            text = (
                f"compiled functions are not kept for the next run: {reason}. "
                "Make it a folder that only you can write to, or name another one in HELICOID_CACHE."
            )
            warn(PerformanceWarning(text))
            _spare = Path(tempfile.mkdtemp(prefix="helicoid-")).resolve()
            atexit.register(_remove_own, _spare, os.getpid())
        return _spare


def _remove_own(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked process must not take it from its parent
        shutil.rmtree(folder, ignore_errors=True)


def digest_of_private(path: Path) -> str:
    """The digest of a file that only its owner can write to."""
    careful = os.O_NOFOLLOW | os.O_NONBLOCK  # it may be a pipe without a writer
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | careful)) as file:
        status = os.fstat(file.fileno())
        check_private(path, status)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is no file")
        return hashlib.sha256(file.read()).hexdigest()
