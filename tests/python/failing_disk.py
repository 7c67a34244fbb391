"""A disk of which one operation fails, or all from one on."""

import builtins
import contextlib
import errno
import io
import os

import pytest

from bayespoint.base import io as files

STEPS = {"open", "write", "chmod", "fsync", "replace"}
"""The operations that write a file, in the order of their first call."""


@contextlib.contextmanager
def failing_disk(n, *, lasting=False, number=errno.ENOSPC):
    """Let the n-th operation that writes a file fail, and the writes after it if `lasting`.

    Yields the list of operations, as far as they have come; with n = 0 all succeed. Buffers are
    small, so that a file takes many writes.
    """
    done = []

    def step(name):
        done.append(name)
        if n and (len(done) == n or (lasting and len(done) > n and name == "write")):
            raise OSError(number, os.strerror(number))

    class Counted(io.FileIO):
        def write(self, data):
            step("write")
            return super().write(data)

    def opened(path, mode, **settings):
        if "x" not in mode:
            return builtins.open(path, mode, **settings)
        step("open")
        return io.BufferedWriter(Counted(path, mode, **settings), 512)

    def counted(name):
        function = getattr(os, name)

        def call(*args, **settings):
            step(name)
            return function(*args, **settings)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "open", opened, raising=False)
        for name in STEPS - {"open", "write"}:
            patch.setattr(os, name, counted(name))
        yield done
