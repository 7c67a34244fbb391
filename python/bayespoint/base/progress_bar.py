"""Progress bars on standard error."""

from __future__ import annotations

from tqdm import tqdm


class Bar(tqdm):  # type: ignore[misc]
    """A bar without a thread that looks after bars: it would outlive them."""

    monitor_interval = 0
