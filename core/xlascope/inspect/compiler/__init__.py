"""What compilers make of a program, and why: reasons, passes, stages down to machine code, other hardware."""
