"""What `import bayespoint` brings along."""

import subprocess
import sys

import pytest

import bayespoint


def test_heavy_modules_wait_until_they_are_needed():
    code = (
        "import sys, sklearn.base; before = set(sys.modules); import bayespoint; "
        "print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = set(done.stdout.split())
    assert "bayespoint.estimators.bayes_point" in new
    heavy = ("matplotlib", "xarray", "arviz", "pandas", "scipy.stats", "sklearn.metrics")
    heavy += (
        "sklearn.preprocessing",
        "sklearn.svm",
        "bayespoint.datasets",
        "bayespoint.papers.planar",
    )
    assert not [name for name in new if name.startswith(heavy)]


def test_modules_come_when_they_are_asked_for():
    code = (
        "import sys, bayespoint as b; assert 'bayespoint.export' not in sys.modules; "
        "print(b.export.__name__, b.posterior.__name__, b.results.__name__, b.tuning.__name__); "
        "print(*({'onnx', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ("export", "posterior", "results", "tuning")
    assert done.stdout.split() == [f"bayespoint.{name}" for name in names]
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
