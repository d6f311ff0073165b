"""What a kernel costs: the least time a chip could take, and how near the measured time came to it."""
