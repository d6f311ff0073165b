"""What is shown, whole and at rest: the state of a panel that nobody updates any more."""

from __future__ import annotations

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
