"""A process writes signs of life again and again, until it leaves."""

import threading

from xlascope.xla.processes.heartbeats import Heartbeats
from xlascope.xla.processes.process_facts import collect_facts


class Signs:
    """A store of signs; the third one sets ``beats``."""

    def __init__(self) -> None:
        self.signs: list[str] = []
        self.beats = threading.Event()

    def write(self, key: str, value: str, *, overwrite: bool) -> bool:
        assert key == "alive/0" and overwrite
        self.signs.append(value)
        if len(self.signs) == 3:
            self.beats.set()
        return True

    def read_folder(self, folder: str) -> dict[str, str]:
        return {"0": self.signs[-1]}


def test_a_process_writes_one_sign_of_life_after_another_until_it_leaves():
    store = Signs()
    heartbeats = Heartbeats(store, 0, {0: collect_facts(1)}, timeout=0.04)
    heartbeats.start()
    assert store.beats.wait(60)
    heartbeats.stop()
    assert store.signs[:3] == ["working 1", "working 2", "working 3"]
    assert "departed" in store.signs
