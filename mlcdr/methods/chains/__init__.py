"""Multi-label classifiers made of one binary model a label. One method a file."""
