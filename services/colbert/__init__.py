"""The late-interaction stage: token vectors of every chunk, and MaxSim over them."""
