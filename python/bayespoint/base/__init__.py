"""Checks of arguments, linear algebra, free memory, files, reports and warnings."""
