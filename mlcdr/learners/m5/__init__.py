"""The steps of M5P (`mlcdr/learners/m5p.py`): sorted columns, growing, models, pruning with smoothing; one a file."""
