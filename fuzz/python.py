"""The targets of tests/python/test_fuzz.py under Atheris.

`python fuzz/python.py door tests/hostile/corpus/door -runs=1000000` runs a million inputs of the
compiled functions, `files` in place of `door` those of files; the other arguments are libFuzzer's.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
with atheris.instrument_imports(include=["hostile_bytes", "hostile_files", "bayespoint.base"]):
    import hostile_bytes
    import hostile_files

target = {"door": hostile_bytes, "files": hostile_files}[sys.argv.pop(1)].door
if target is hostile_files.door:
    hostile_files.originals()
atheris.Setup(sys.argv, target)
atheris.Fuzz()
