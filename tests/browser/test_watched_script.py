"""The page of a watched script: from what ran and what took its time to one program of it, without any process."""

import json
import subprocess
import sys

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from tests.browser.saved_page import Opened
from tests.browser.test_accessible import AXE

from xlascope import records

TRAIN = """
import xlascope as xs, xlascope.numpy as jnp
from xlascope import random

def loss(params, x, y):
    hidden = jnp.tanh(x @ params["in"])
    return jnp.mean((hidden @ params["out"] - y) ** 2)

@xs.jit
def step(params, x, y):
    gradient = xs.grad(loss)(params, x, y)
    return {name: params[name] - 0.1 * gradient[name] for name in params}

@xs.jit
def evaluate(params, x, y):
    return loss(params, x, y)

keys = random.split(random.key(0), 4)
params = {"in": random.normal(keys[0], (64, 128)), "out": random.normal(keys[1], (128, 8))}
x, y = random.normal(keys[2], (256, 64)), random.normal(keys[3], (256, 8))
for _ in range(600):
    params = step(params, x, y)
step(params, x[:100], y[:100])
print(float(evaluate(params, x, y)))
raise ValueError("<img src=x onerror=alert(1)>")
"""
#: Named to be taken for HTML by whoever does not escape it.
NAME = "<b onmouseover=alert(1)>train&.py"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    (folder / NAME).write_text(TRAIN)
    words = [sys.executable, "-m", "xlascope", "watch", "-o", "run", NAME, "--epochs", "</script>"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "run.html" in done.stderr, done.stderr
    return folder / "run.html"


@pytest.fixture(params=["light", "dark"])
def opened(windows, tmp_path, request):
    found = Opened(windows, tmp_path, color_scheme=request.param)
    found.scheme = request.param
    yield found
    found.page.close()
    assert found.complaints == []
    assert [url for url in found.requests if not url.startswith(("file:", "data:"))] == []


def test_a_run_and_its_programs(opened, page):
    opened.open(page)
    card = opened.find(".xs-script")
    assert card.locator(".xs-script-command").inner_text() == f"python {NAME} --epochs </script>"
    words = " ".join(card.inner_text().split())
    for said in (
        "ValueError after",
        "running programs",
        "trace + lower + compile",
        "everything else",
        "cpu:0",
        "Python 3.",
    ):
        assert said in words
    assert opened.page.title().startswith(f"python {NAME}")
    assert opened.find("img").count() == 0
    rows = [row.locator("td").all_inner_texts() for row in card.locator("tbody tr").all()]
    (step,) = (row for row in rows if row[0] == "step" and row[2] == "600")
    assert all(" " in step[column] for column in (1, 3, 4))  # numbers with their units
    assert card.locator("tr.selected .xs-script-name").inner_text() in opened.find(".xs-strip").inner_text()
    opened.screenshot(f"script_{opened.scheme}")
    opened.page.evaluate(AXE_SCRIPT)
    assert opened.page.evaluate(AXE, None) == []


def test_another_program_opens(opened, page):
    opened.open(page)
    if opened.find("[data-program=all]").count():
        opened.find("[data-program=all]").click()
    chosen = opened.find(".xs-script-name", has_text="evaluate")
    chosen.click()
    assert "traced evaluate" in " ".join(opened.find(".xs-strip").inner_text().split())
    assert chosen.get_attribute("aria-pressed") == "true"
    assert "evaluate" in opened.find(".xs-choice option:checked").inner_text()
    assert "jnp.mean" in opened.find(".xs-source").inner_text()
    assert opened.find(".xs-node").count() > 0 and opened.find(".xs-kernel").count() > 0
    opened.find(".xs-script-name", has_text="step").first.press("Enter")
    assert "traced step" in " ".join(opened.find(".xs-strip").inner_text().split())
    assert opened.page.evaluate("document.activeElement.textContent") == "step"


def test_why_and_what_failed(opened, page):
    opened.open(page)
    failed = opened.find(".xs-failed")
    assert "failed at line 25" in failed.inner_text() and "<img src=x" in failed.inner_text()
    opened.find(".xs-why").click()
    assert "step: traced again 1 time" in opened.find(".xs-again").inner_text().replace("\n", " ")


def test_more_programs_than_a_page_holds(opened, page):
    """Those with least time are rows that say what was left out."""
    document = json.loads(page.with_suffix(".json").read_text())
    script, *others = (records.from_json(each) for each in document["records"])
    kept = records.to_json(script)
    for share in kept["shares"][2:]:
        share["kept"] = False
    kept["shares"].append(kept["shares"][-1] | {"program": None, "programs": 1_234, "calls": 98_765})
    opened.show([records.from_json(kept), *others])
    opened.find("[data-program=all]").click()
    assert opened.find(".xs-script-name").count() == opened.find(".xs-choice option").count() == 2
    assert "1,234 smaller programs" in opened.find(".xs-script tbody tr").last.inner_text()
    assert "98,765" in opened.find(".xs-script tbody tr").last.inner_text()
