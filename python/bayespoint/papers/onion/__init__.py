"""The onion of Ruján and Marchand: the layers of weight vectors with some training errors."""

from bayespoint.papers.onion.layers import onion
from bayespoint.papers.onion.table import OnionTable

__all__ = ["OnionTable", "onion"]
