import json
from collections.abc import Callable
from pathlib import Path

from tests.changes_of_jax import made


def test_bodies_of_a_gradient(fresh_python: Callable[[str], str]) -> None:
    """What a backward loop holds is backward; what it computes again transposes nothing; names are of one variable."""
    program = Path(__file__).with_name("described.py").read_text(encoding="utf-8")
    assert json.loads(fresh_python(f"import os; os.environ['JAX_PLATFORMS'] = 'cpu'\n{program}")) == {
        "named twice": [],
        "roles": ["backward"],
        "transposed": ["0/0", "0/1"],
        "again": ["dot_general", "tanh", "one_minus_square" if made("derivative of tanh") else "sub"],
    }
