"""`python -m mlcdr` is the command `mlcdr`."""

from mlcdr.cli import main

if __name__ == "__main__":
    main()
