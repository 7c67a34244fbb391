"""The targets of tests/python/test_fuzz.py under Atheris.

`python fuzz/python.py files corpus -runs=1000000` runs a million inputs.

The first argument is the target, "door" or "files"; the others are libFuzzer's.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
TRACED = ["bayespoint.base.npz", "bayespoint.base.persistence", "hostile_bytes"]
with atheris.instrument_imports(include=TRACED):
    import hostile_bytes

target = getattr(hostile_bytes, sys.argv.pop(1))
atheris.Setup(sys.argv, target)
atheris.Fuzz()
