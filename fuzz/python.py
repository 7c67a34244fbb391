"""The target of tests/python/test_fuzz.py under Atheris.

`python fuzz/python.py tests/hostile/corpus/door -runs=1000000` runs a million inputs; the arguments
are libFuzzer's.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
with atheris.instrument_imports(include=["hostile_bytes"]):
    from hostile_bytes import door

atheris.Setup(sys.argv, door)
atheris.Fuzz()
