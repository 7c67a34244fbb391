"""The calls of the compiled engine."""
