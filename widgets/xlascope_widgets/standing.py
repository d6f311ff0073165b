"""The complete state of a panel that is no longer updated."""

from __future__ import annotations

import json

from .feed import Feed
from .ledger import Ledger
from .packed import JSON


def state_of(store: Ledger) -> JSON:
    """Return the traits of an open panel that has received all records of a store."""
    state: JSON = {"uid": "page", "opened": True, "programs": {}, "live": {}}

    def send(programs: dict[str, JSON] | None, live: JSON) -> int:
        state.update({"live": live} if programs is None else {"live": live, "programs": programs})
        return 0

    scheduler = Feed(send)
    scheduler.show(store)
    scheduler.finish()
    return state


def within(state: JSON, most: int) -> JSON:
    """Return the state with at most ``most`` characters of JSON, leaving out programs if necessary.

    The most important programs stay, and the first whatever its size; a script's card marks those not shown.
    """
    retained: set[int] = set()
    size = 0
    for light in state["live"]["programs"]:
        size += len(json.dumps(state["programs"][str(light["number"])])) + len(json.dumps(light))
        if size > most and retained:
            break
        retained.add(light["number"])
    if len(retained) == len(state["programs"]):
        return state
    live = dict(state["live"])
    left_out = [light for light in live["programs"] if light["number"] not in retained]
    live["programs"] = [light for light in live["programs"] if light["number"] in retained]
    if "script" in live:
        live["script"] = _without(live["script"], retained)
    else:
        live["more"] += len(left_out)
    return state | {
        "live": live,
        "programs": {n: heavy for n, heavy in state["programs"].items() if int(n) in retained},
    }


def _without(script: JSON, retained: set[int]) -> JSON:
    programs = [[*share[:-1], int(share[0] in retained)] for share in script["programs"]]
    return script | {"programs": programs}
