"""What works on a machine's device, and how fast: ``python -m xlascope doctor --device``, with ``--out`` in full."""
