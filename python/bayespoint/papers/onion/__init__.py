"""The onion of Ruján and Marchand: the layers of weight vectors with some training errors.

`onion` gives the center and the volume of each layer around a version space, `choose_layer` the
layer whose center makes the fewest errors on held-out examples.
"""

from bayespoint.papers.onion.layers import choose_layer, onion
from bayespoint.papers.onion.table import LayerChoice, OnionTable

__all__ = ["LayerChoice", "OnionTable", "choose_layer", "onion"]
