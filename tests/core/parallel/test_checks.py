"""Checks within a shard_map: each device has its own outcome, and the message has a line for each that failed."""

from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).with_name("checked_programs.py")
AS_IN_JAX = [
    *("check", "check, unchecked types", "jit", "jit inside", "two checks", "the sum", "loop", "branch", "two axes"),
    *("the same on two devices", "checked again", "pmap", "errors of devices", "errors of pmap"),
]


@pytest.mark.parametrize("name", AS_IN_JAX)
def test_the_messages_are_those_of_jax(name, on_eight, jax_says):
    found, wanted = on_eight(PATH, "as_in_jax"), jax_says(PATH, "as_in_jax", num_cpu_devices="8")
    assert list(found) == AS_IN_JAX
    assert found[name][0] == wanted[name][0] and found[name][0][0] and found[name][0][-1] is None
    for mine, other in zip(found[name][1], wanted[name][1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)


def _lines(*failures):
    return "\n".join(f"at mapped index {index}: {text} (`check` failed)" for index, text in failures)


def test_where_jax_fails_or_has_other_messages(on_eight):
    large = _lines(*((i, f"x is {i}.0") for i in (5, 6, 7)))
    found = {name: messages for name, (messages, _) in on_eight(PATH, "alone").items()}
    assert {name: (first, compiled) for name, (first, compiled, *_) in found.items()} == {
        "loop, checked types": (_lines((4, "c=6.0"), (5, "c=6.0"), (6, "c=6.0"), (7, "c=7.0")),) * 2,
        "branch, checked types": (_lines((6, "large 6.0"), (7, "large 7.0")),) * 2,
        "gradient": (large, large),
        "one manual axis": (_lines((2, "x is 4.0"), (3, "x is 6.0")),) * 2,
        "after another": (large, large),
        "in a loop": (large, large),
    }
    assert {messages[-1] for messages in found.values()} == {None}


def test_what_is_not_looked_at_is_refused(on_eight):
    without_axis, unseen = on_eight(PATH, "refused")
    assert "has 0 axes" in without_axis and "give it an axis (x[None])" in without_axis
    assert "cannot raise its error from within a compiled program" in unseen and "checked_programs.py" in unseen
