"""The panel as one HTML file: it opens from a disk, without network or kernel, and in a sandboxed frame.

The page holds data, code and style. Nothing else may run or be loaded (its policy says so, and names the one script by
its hash); the data is JSON in an element that no browser executes, with every ``<`` escaped.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape

from .. import assets
from ..html import image
from ..ledger import Ledger
from ..standing import state_of, within
from ..text import ledger_text

#: Characters of the programs in a page: what is more, those with least time, is left out.
MOST_STATE = 8_000_000

_BODY = "body{margin:12px;background:#fff}@media(prefers-color-scheme:dark){body{background:#11151c;color:#dfe5ee}}"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="xlascope">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="xlascope-panel"></div>
<noscript>{image}<pre>{text}</pre></noscript>
<script type="application/json" id="xlascope-state">{state}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def page(ledger: Ledger) -> str:
    """The page that shows the programs of a ledger."""
    state = within(state_of(ledger), MOST_STATE)
    script = assets.page_module().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    told = ledger_text(ledger)
    return _PAGE.format(
        policy=f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'unsafe-inline'; img-src data:",
        title=escape(told.splitlines()[0][:100]),
        style=_BODY + assets.style(),
        image=image(ledger, ""),
        text=escape(told),
        state=json.dumps(state).replace("<", "\\u003c"),
        script=script,
    )


def _hash(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()
