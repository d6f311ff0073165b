"""How the pages become a site: `make docs` lays them out, writes the reference, and hands both to Sphinx."""
