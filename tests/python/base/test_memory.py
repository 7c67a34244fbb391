"""Matrices that do not fit into memory are refused before they are allocated."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, BayesPointOrdinalClassifier, VersionSpace, kernels
from bayespoint.base import memory


def test_matrices_of_four_million_examples_are_refused():
    """Ordered classes have another matrix."""
    m = 4_000_000
    X, y = np.zeros((m, 1)), np.arange(m) % 3
    X[0] = 1.0
    given = {"kernel": kernels.RBF(1.0), "softness": 0.1, "approximation": None}
    calls = {
        ("the kernel matrix of", "58.2"): lambda: kernels.gram_matrix(X, kernels.RBF(1.0)),
        ("fitting", "232.9"): lambda: BayesPointClassifier(**given).fit(X, y),
        ("fitting", "349.3"): lambda: BayesPointOrdinalClassifier(**given).fit(X, y),
        ("a copy of gram", "116.4"): lambda: VersionSpace(np.broadcast_to(1.0, (m, m)), X),
    }
    for (what, size), call in calls.items():
        text = f"{what}.* needs {size} TiB, but only .* of memory is available"
        with pytest.raises(MemoryError, match=text):
            call()


def test_control_groups_count(monkeypatch, tmp_path):
    """The tightest limit of a group or its parents holds; idle file pages do not count."""
    parent, group = tmp_path / "slice", tmp_path / "slice" / "job"
    group.mkdir(parents=True)
    for folder, limit in ((parent, "10000"), (group, "max")):
        (folder / "memory.max").write_text(limit)
        (folder / "memory.current").write_text("4000")
        (folder / "memory.stat").write_text("anon 1\ninactive_file 500\n")
    (tmp_path / "own").write_text("4:memory:/elsewhere\n0::/slice/job\n")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "_OWN_CGROUP", tmp_path / "own")
    assert memory.available() == 6500
    (group / "memory.max").write_text("3000")
    assert memory.available() == 0
    for text in ("0::/\n", "4:memory:/elsewhere\n", ""):
        (tmp_path / "own").write_text(text)
        assert memory.available() > 2**20
    monkeypatch.setattr(memory, "_OWN_CGROUP", tmp_path / "none")
    assert memory.available() > 2**20
