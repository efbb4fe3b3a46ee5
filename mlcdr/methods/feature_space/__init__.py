"""Feature-space extraction: from n×d features to n×m, m ≤ d. One method a file."""
