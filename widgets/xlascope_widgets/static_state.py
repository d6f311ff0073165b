"""The complete state of a panel that is no longer updated."""

from __future__ import annotations

import json

from .encoding import JSON
from .program_store import ProgramStore
from .update_scheduler import UpdateScheduler


def make_static_state(store: ProgramStore) -> JSON:
    """Return the values of the traits of an open panel that has received all records of a store."""
    state: JSON = {"uid": "page", "opened": True, "programs": {}, "live": {}}

    def send(programs: dict[str, JSON] | None, live: JSON) -> int:
        state.update({"live": live} if programs is None else {"live": live, "programs": programs})
        return 0

    scheduler = UpdateScheduler(send)
    scheduler.show(store)
    scheduler.finish()
    return state


def limit_state(state: JSON, most: int) -> JSON:
    """Return the state with about ``most`` characters of JSON, leaving out programs if necessary.

    The most important programs stay, and the first whatever its size; a script's card marks those not shown.
    ``state`` is the result of :func:`make_static_state`.
    """
    retained: set[int] = set()
    size = 0
    for light in state["live"]["programs"]:
        heavy = state["programs"].get(str(light["number"]))  # a program that failed to be traced has none
        size += len(json.dumps(heavy)) + len(json.dumps(light))
        if size > most and retained:
            break
        retained.add(light["number"])
    if len(retained) == len(state["live"]["programs"]):
        return state
    live = dict(state["live"])
    left_out = [light for light in live["programs"] if light["number"] not in retained]
    live["programs"] = [light for light in live["programs"] if light["number"] in retained]
    if "script" in live:
        live["script"] = _limit_script(live["script"], retained)
    else:
        live["more"] += len(left_out)
    return state | {
        "live": live,
        "programs": {n: heavy for n, heavy in state["programs"].items() if int(n) in retained},
    }


def _limit_script(script: JSON, retained: set[int]) -> JSON:
    programs = [[*share[:-1], int(share[0] in retained)] for share in script["programs"]]
    return script | {"programs": programs}
