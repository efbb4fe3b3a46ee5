"""Label-space reduction: from n×K label vectors to codes and back. One method a file."""
