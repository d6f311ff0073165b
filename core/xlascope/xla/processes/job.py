"""The job of several processes that this process belongs to, if any."""

from __future__ import annotations

import atexit
import sys

from ..system.worker_thread import skip_destructors
from .addresses import HostAndPort
from .failure_state import failure, raise_failure, stop_delivery
from .membership import JobTimeouts, Membership

_membership: Membership | None = None
_waits_at_exit = True


def current_membership() -> Membership | None:
    """Return the membership of this process in a job; None before it joins one, and after it has left it."""
    return _membership


def join_job(
    address: HostAndPort,
    num_processes: int,
    process_id: int,
    bind_address: HostAndPort,
    limits: JobTimeouts,
    device_numbers: tuple[int, ...] | None,
) -> None:
    """Join a job and wait until all of its processes have come.

    ``device_numbers`` are those of the GPUs that this process uses, None for all of them.
    """
    global _membership
    _membership = Membership(address, num_processes, process_id, bind_address, limits)
    _membership.device_numbers = device_numbers


def raise_if_lost(error: Exception) -> None:
    """Raise PeerLostError or CoordinatorLostError if that is why a program failed with ``error``, which is jaxlib's.

    It may take as long as a silent process may be silent; without a job this does nothing.
    """
    membership = _membership
    reason = None if membership is None else membership.explain(error)
    if reason is not None:
        raise_failure(reason)


def leave_job() -> None:
    """Leave the job once all processes want to; without a job this does nothing."""
    global _membership
    membership, _membership = _membership, None
    if membership is not None:
        membership.leave()


def abandon_job_at_exit() -> None:
    """Let this process exit without waiting for the others, as engines of a cluster do, which end together."""
    global _waits_at_exit
    _waits_at_exit = False


def _leave_at_exit() -> None:
    """Leave the job as the process exits; after an error the others are told which one, and not waited for."""
    global _membership
    membership, _membership = _membership, None
    if membership is None:
        return
    if not _waits_at_exit:
        stop_delivery()
        skip_destructors()
        return
    error = getattr(sys, "last_value", None)
    membership.leave(None if error is None else f"{type(error).__name__}: {error}".strip())
    if failure() is not None or error is not None:
        skip_destructors()


atexit.register(_leave_at_exit)
