"""Selectors of features for one label at a time, or for one label and those it depends on."""
