"""Report of what works on a machine's device, and how fast: ``python -m xlascope doctor --device [--out FILE]``."""
