"""A jury of programs that hold the times which xlascope shows against their own clocks."""
