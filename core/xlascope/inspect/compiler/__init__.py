"""Compiler output for a program: fusion reasons, passes, stages down to machine code, and other hardware."""
