"""Dual-space reduction: features and labels are reduced together. One method per file, on the base in `linear`."""
