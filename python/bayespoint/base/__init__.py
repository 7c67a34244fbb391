"""What every other folder stands on: checks, linear algebra, memory, files, texts, warnings."""
