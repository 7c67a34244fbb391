"""The displays of the package on the guide's page of pictures."""
