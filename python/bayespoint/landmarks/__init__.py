"""Models of few dimensions for many examples, with landmarks in place of all kernel values."""
