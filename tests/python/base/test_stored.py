"""Work for other processes is refused by another build."""

import numpy as np
import pytest

from bayespoint.base import stored
from bayespoint.data.executors import Dask


def test_parcels_hold_what_was_packed():
    array = np.arange(3.0)
    found = stored.unpack(stored.pack(("work", array)))
    assert found[0] == "work"
    np.testing.assert_array_equal(found[1], array)
    assert stored.build().endswith(")")


def test_another_build_is_refused(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stored, "build", lambda: "0.0.1 (abc)")
        parcel = stored.pack("work")
    with pytest.raises(RuntimeError, match=r"a worker has bayespoint .* begun by 0.0.1 \(abc\)"):
        stored.unpack(parcel)


def test_a_worker_of_another_build_ends_the_fit(monkeypatch):
    pytest.importorskip("dask")
    executor = Dask()
    with monkeypatch.context() as patch:
        patch.setattr(stored, "build", lambda: "0.0.1 (abc)")
        [deferred] = executor.defer(float, [[1]])
    with pytest.raises(RuntimeError, match=r"begun by 0.0.1 \(abc\)"):
        deferred.compute(scheduler="synchronous")  # without threads that stay
