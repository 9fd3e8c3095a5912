"""Late interaction: token vectors of every chunk, and MaxSim over them."""
