"""The panel as one HTML file: it opens from disk, without network or kernel, and in a sandboxed frame.

The page contains data, code and style. Its content security policy allows nothing else to run or be loaded,
and identifies the one script by its hash; the data is JSON in an element that browsers do not execute, with
every ``<`` escaped.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape

from . import assets
from .html import image_element
from .program_store import ProgramStore
from .static_state import limit_state, make_static_state
from .text import store_text

#: The maximum number of characters of the programs in a page; beyond it, programs with least time are left out.
MAX_STATE_CHARS = 8_000_000

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


def page_html(store: ProgramStore) -> str:
    """Return the page that shows the programs of a store."""
    state = limit_state(make_static_state(store), MAX_STATE_CHARS)
    script = assets.page_module().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    summary = store_text(store)
    return _PAGE.format(
        policy=f"default-src 'none'; script-src 'sha256-{_csp_hash(script)}'; style-src 'unsafe-inline'; img-src data:",
        title=escape(summary.splitlines()[0][:100]),
        style=_BODY + assets.style(),
        image=image_element(store, ""),
        text=escape(summary),
        state=json.dumps(state).replace("<", "\\u003c"),
        script=script,
    )


def _csp_hash(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()
