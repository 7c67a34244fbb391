"""What `import bayespoint` brings along."""

import pytest

import bayespoint
from helpers import new_process


def test_modules_come_when_they_are_asked_for():
    """Heavy ones wait until they are needed."""
    code = (
        "import sys, sklearn.base; before = set(sys.modules); import bayespoint as b; "
        "print(*(set(sys.modules) - before)); "
        "print(b.export.__name__, b.posterior.__name__, b.results.__name__, b.tuning.__name__); "
        "print(*({'onnx', 'matplotlib'} & set(sys.modules)))"
    )
    new, own, others = (line.split() for line in new_process(code).stdout.splitlines())
    assert "bayespoint.estimators.bayes_point" in new
    heavy = ("matplotlib", "xarray", "arviz", "pandas", "scipy.stats", "sklearn.metrics")
    heavy += ("sklearn.preprocessing", "sklearn.svm", "bayespoint.datasets", "bayespoint.export")
    assert not [name for name in new if name.startswith((*heavy, "bayespoint.papers.planar"))]
    assert own == [f"bayespoint.{name}" for name in ("export", "posterior", "results", "tuning")]
    assert others == []
    with pytest.raises(AttributeError, match="module 'bayespoint' has no attribute 'nothing'"):
        _ = bayespoint.nothing


def test_the_public_names():
    names = {name for name in dir(bayespoint) if not name.startswith("__")}
    assert names == {
        "BayesPointClassifier",
        "BayesPointOrdinalClassifier",
        "BayesPointRanker",
        "BilliardResult",
        "Evidence",
        "InfeasibleError",
        "MaxMargin",
        "SampleOptions",
        "VersionSpace",
        "Walls",
        "datasets",
        "kernels",
        "load",
        "papers",
        "plotting",
    }
    assert set(bayespoint.__all__) == {*names, "__version__"}
    assert all(hasattr(bayespoint, name) for name in dir(bayespoint))
