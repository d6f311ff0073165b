"""How the notebooks are made: `make notebooks`, or `python -m notebooks.making [NOTEBOOK …]`.

Each runs in a fresh kernel and keeps what stands without any: text, tables and pictures in pixels. So whoever reads it
on GitHub sees what it shows. The order of the files is that of the work: `address` and `first_cell`, `running`,
`standing` and `pixels`, `same`, `belonging`, `table`.
"""
