"""Programs that operations hold: staging of users' functions, interning, masks, and calls of programs."""
