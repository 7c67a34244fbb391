"""Foundations of all other folders: checks, linear algebra, memory, files, texts, warnings."""
