"""Control flow: branches and loops."""
