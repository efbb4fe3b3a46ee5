"""The steps of M5P (`M5P`): sorted columns, growing, models, pruning with smoothing; one a file."""
