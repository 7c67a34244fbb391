"""The examples of a fit: inputs, labels and weights, in memory or in blocks elsewhere."""
