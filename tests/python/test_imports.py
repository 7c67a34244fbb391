"""What `import bayespoint` brings along."""

import subprocess
import sys


def test_heavy_modules_wait_until_they_are_needed():
    code = (
        "import sys, sklearn.base; before = set(sys.modules); import bayespoint; "
        "print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = set(done.stdout.split())
    assert "bayespoint.classifier" in new
    heavy = ("matplotlib", "xarray", "arviz", "pandas", "scipy.stats", "sklearn.metrics")
    heavy += ("sklearn.preprocessing", "sklearn.svm", "bayespoint.datasets", "bayespoint.planar")
    assert not [name for name in new if name.startswith(heavy)]
