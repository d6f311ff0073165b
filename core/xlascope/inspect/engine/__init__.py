"""Our own engine's programs, for the questions: nothing else in inspect/ imports the engine but what runs programs."""
