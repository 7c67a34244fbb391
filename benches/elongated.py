"""The elongated toy problem of Herbrich, Graepel and Campbell: their example, and the average.

``python benches/elongated.py`` where bayespoint is installed. A search over seeds finds a problem
like the one in their Figure 4; the mean gap over independent problems says how typical it is.
"""

from __future__ import annotations

import argparse

from bayespoint.papers.elongated import center_errors


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=200, help="default: %(default)s")
    parser.add_argument(
        "--search", type=int, default=1000, help="seeds to look through; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first; default: %(default)s")
    options = parser.parse_args()
    print(center_errors(options.problems, first_seed=options.seed).summary())
    searched = center_errors(options.search, first_seed=options.seed + options.problems)
    print(f"search through {options.search} more:\n{searched.summary()}")


if __name__ == "__main__":
    main()
