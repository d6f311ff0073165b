"""Where was it born? A strip's question about the latest calls of the cell."""

from typing import Any

import pytest

from xlascope.records import ValueReport
from xlascope_ipython.answers import ANSWERS
from xlascope_ipython.replay import LATEST

SETUP = """import xlascope as xs, xlascope.numpy as jnp
@xs.jit
def bad(x):
    return jnp.log(x - 1.0)
"""


class Reply:
    """Somebody who waits for an answer."""

    def on_cancel(self, stop: Any) -> None: ...
    def progress(self, share: Any, message: str = "") -> None: ...


def ask(number: int = 0) -> ValueReport:
    records, text = ANSWERS({"question": "values", "program": number}, Reply())  # type: ignore[arg-type]
    assert not text
    report = list(records)[-1]
    assert isinstance(report, ValueReport)
    return report


def program_of_latest() -> int:
    return int(LATEST._calls[0].programs[0])


@pytest.mark.parametrize("cell", ["y = bad(jnp.float32(1))", "for _ in range(20):\n    y = bad(jnp.float32(1))"])
def test_the_latest_call_is_made_again(terminal: Any, cell: str) -> None:
    terminal.run(SETUP)
    assert "results hold infinity" in terminal.run(f"{cell}\ny.block_until_ready();")
    report = ask(program_of_latest())
    assert report.births[0].operation == "log" and report.program == program_of_latest()


def test_what_cannot_be_made_again_says_what_to_do(terminal: Any) -> None:
    terminal.run(SETUP + "step = xs.jit(bad, donate_argnums=0)")
    terminal.run("x = jnp.float32(1)\ny = step(x).block_until_ready()")
    with pytest.raises(LookupError, match=r"bad donates arguments.*%values step\(x\)"):
        ask()
    terminal.run("y = jnp.log(jnp.zeros(2)).block_until_ready()")
    with pytest.raises(LookupError, match="no arguments of a call of a jitted function of this cell"):
        ask(10**9)


def test_healthy_cells_leave_the_calls_alone(terminal: Any) -> None:
    terminal.run(SETUP)
    terminal.run("y = bad(jnp.float32(1)).block_until_ready()")
    number = program_of_latest()
    terminal.run("z = bad(jnp.float32(3)).block_until_ready()")
    assert ask(number).births[0].operation == "log"
