"""Several devices: each has its own times and ceilings, asked for and live."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, time
import numpy as np
import xlascope as xs, xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.inspect.running.profile_sampler import Sampler

f = xs.jit(lambda x: jnp.tanh(x @ x).sum())
on = [xs.device_put(np.ones((200, 200), np.float32), device) for device in xs.devices()]
asked = []
for x in on[:2]:
    run, top = inspect.timings(f, x).records[-2:]
    asked.append([[each.device for each in run.devices], top.device])
for _ in range(20):  # a window is short, and ends with a whole call: on a busy machine not every device has run in it
    seen = []
    with Sampler(emit=seen.append):
        until = time.monotonic() + 4
        while time.monotonic() < until:
            for x in on:
                f(x).block_until_ready()
            lanes = [each.devices for each in seen if isinstance(each, records.Executed) and each.devices]
            if lanes and len(lanes[-1]) == 4:
                break
    if lanes and len(lanes[-1]) == 4:
        break
print(json.dumps([asked, [[each.device, each.busy, len(each.spans)] for each in lanes[-1]]]))
"""


@pytest.mark.live
def test_each_device_has_its_lane() -> None:
    environment = os.environ | {"JAX_NUM_CPU_DEVICES": "4"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=180, check=True
    )
    asked, live = json.loads(done.stdout)
    assert asked == [[["cpu:0"], "cpu:0"], [["cpu:1"], "cpu:1"]]
    assert [name for name, *_ in live] == ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
    assert all(busy > 0 and spans > 0 for _, busy, spans in live)
