"""The former name of `rows_on_demand`."""

from bayespoint.kernels.rows_on_demand import *  # noqa: F403
