"""The maintainers' scripts, run by `make`: the record, its pages, and the pages of studies. No part of the package."""
