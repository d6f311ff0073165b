"""What is shown, whole and at rest: the state of a panel that nobody updates any more."""

from __future__ import annotations

import json

from .feed import Feed
from .ledger import Ledger
from .packed import JSON


def state_of(ledger: Ledger) -> JSON:
    """The traits of an open panel that has received everything there is."""
    state: JSON = {"uid": "page", "opened": True, "programs": {}, "live": {}}

    def send(programs: dict[str, JSON] | None, live: JSON) -> int:
        state.update({"live": live} if programs is None else {"live": live, "programs": programs})
        return 0

    feed = Feed(send)
    feed.show(ledger)
    feed.finish()
    return state


def within(state: JSON, most: int) -> JSON:
    """The same with fewer programs, where they would be more than so many characters of JSON.

    Those with most to see stay, and the first whatever its size; a script's card says which are not shown.
    """
    kept: set[int] = set()
    size = 0
    for light in state["live"]["programs"]:
        size += len(json.dumps(state["programs"][str(light["number"])])) + len(json.dumps(light))
        if size > most and kept:
            break
        kept.add(light["number"])
    if len(kept) == len(state["programs"]):
        return state
    live = dict(state["live"])
    left_out = [light for light in live["programs"] if light["number"] not in kept]
    live["programs"] = [light for light in live["programs"] if light["number"] in kept]
    if "script" in live:
        live["script"] = _without(live["script"], kept)
    else:
        live["more"] += len(left_out)
    return state | {"live": live, "programs": {n: heavy for n, heavy in state["programs"].items() if int(n) in kept}}


def _without(script: JSON, kept: set[int]) -> JSON:
    programs = [[*share[:-1], int(share[0] in kept)] for share in script["programs"]]
    return script | {"programs": programs}
