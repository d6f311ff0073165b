"""The notebook side of xlascope: magics, cell hooks and the live session behind `%load_ext xlascope`."""
