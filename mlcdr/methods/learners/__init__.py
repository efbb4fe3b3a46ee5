"""Learners: multi-output regressors that fit codes. One method a file."""
