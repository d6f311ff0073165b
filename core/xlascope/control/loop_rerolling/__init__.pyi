from .program_rerolling import reroll_program as reroll_program
