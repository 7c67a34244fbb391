"""Hostile values for any argument, and what a call may do with them."""

import contextlib
import decimal
import faulthandler
import fractions
import gc
import re
import signal
import threading
import warnings
from dataclasses import fields, is_dataclass

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from scipy import sparse

from bayespoint import InfeasibleError
from helpers import SLOW


def budget(short, long=None):
    """Return settings with so many examples, the long form under BAYESPOINT_SLOW=1."""
    return settings(
        max_examples=(long or 40 * short) if SLOW else short,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )


# --- what a call may do ----------------------------------------------------------------------

PATIENCE = 20.0
"""Seconds in which any call with arguments of a usual size is over, many times over."""
SHORT = 0.15
"""The same where an argument asks for any amount of work: then it has to stop when asked."""

DOCUMENTED = (ValueError, TypeError, MemoryError, FloatingPointError)


class Stopped(Exception):  # noqa: N818 - what the alarm raises is not the call's error
    """The alarm went off."""


@contextlib.contextmanager
def stopped_after(seconds):
    """Raise Stopped in the block after some seconds; end the process where that does not help."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_):
        raise Stopped

    before = signal.signal(signal.SIGALRM, ring)
    # What is raised in a callback of the collector, as hypothesis has one, is lost.
    collecting = gc.isenabled()
    gc.disable()
    faulthandler.dump_traceback_later(seconds + 60, exit=True)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()
        if collecting:
            gc.enable()


def outcome(function, arguments, *, spoiled=None, names=(), heavy=False):
    """Return (result, None), or (None, error) for a documented error that names an argument.

    It has to name one of those `spoiled`, all by default. Anything else fails: another exception,
    a panic of the engine, a call without an end. With `heavy` an argument asks for any amount of
    work, and the call only has to stop when asked.
    """
    try:
        with warnings.catch_warnings(), stopped_after(SHORT if heavy else PATIENCE):
            warnings.simplefilter("ignore")
            return function(**arguments), None
    except Stopped:
        assert heavy, f"no end in {PATIENCE} s"
        return None, Stopped()
    except DOCUMENTED as error:
        text = str(error)
        known = [*(arguments if spoiled is None else spoiled), *names]
        if not blames(error, known):
            what = f"{type(error).__name__} names none of {', '.join(map(str, known))}"
            raise AssertionError(f"{what}: {text}") from error
        return None, error


def blames(error, names):
    """Return whether an error says by its text which of the arguments of these names is wrong."""
    text = str(error)
    if any(re.search(rf"(?<![A-Za-z_]){re.escape(name)}(?![A-Za-z_])", text) for name in names):
        return True
    if isinstance(error, InfeasibleError):
        return re.search(r"^examples \d+ and \d+ |^no (weight vector|annealed particle)", text)
    if isinstance(error, FloatingPointError):
        return text.startswith("numerical breakdown")
    return any(re.search(own, text) and not known.isdisjoint(names) for own, known in OWN_TEXTS)


OWN_TEXTS = (
    # scikit-learn's and NumPy's checks of a table of inputs
    (r"^Expected 2D array, got", {"X"}),
    (r"^Found array with dim \d+, while dim <= 2 is required by", {"X"}),
    (r"^Found array with dim \d+\. \w+ expected <= 2", {"X"}),  # of scikit-learn 1.6
    (r"^Found array with \d+ (feature|sample)\(s\) .* is required by", {"X"}),
    (r"^could not convert string to float", {"X"}),
    (r"^(Unable to convert|Cannot convert)", {"X"}),
    (r"^dtype='numeric' is not compatible", {"X"}),
    (r"^Sparse data was passed", {"X"}),
    # of labels
    (r"^Unknown label type", {"y"}),
    (r"^Found array with .* is required\.$", {"y"}),
    # of either
    (r"^Complex data not supported", {"X", "y"}),
    # of two lengths, of which either may be wrong
    (r"^Found input variables with inconsistent numbers of samples", {"X", "y"}),
    (r"^offsets must have shape", {"normals"}),
    # what a function of the caller raises, here the builtin that stands for all: it is passed on
    (r"^len\(\) takes exactly one argument", {"kernel", "factor", "weight"}),
    # operators, whose operands have no names
    (r"^a kernel can be added to or multiplied with kernels and", {"kernel", "factor"}),
)
"""Texts that name no argument, and those that each is a word about.

What is to blame where no weight vector was found or double precision gave out is no argument but
the examples: errors of these two kinds say so in words of their own.
"""


def same(one, other):
    """Return whether two values have the same bits and types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and one.dtype != object:
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, list | tuple | np.ndarray):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other or one is other or (one != one and other != other))


# --- the same array in other forms -----------------------------------------------------------


class Subclass(np.ndarray):
    """An ndarray of another class."""


def _strided(x):
    wide = np.zeros(tuple(3 * n for n in x.shape), dtype=x.dtype)
    view = wide[tuple(slice(1, None, 3) for _ in x.shape)]
    view[...] = x
    return view


def _backwards(x):
    turn = (slice(None, None, -1),) * x.ndim
    return np.ascontiguousarray(x[turn])[turn]


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def _unaligned(x):
    data = bytearray(x.nbytes + 1)
    view = np.frombuffer(data, dtype=x.dtype, offset=1, count=x.size).reshape(x.shape)
    view[...] = x
    return view


FORMS = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(map(tuple, x.tolist())) if x.ndim == 2 else tuple(x.tolist()),
    "Fortran order": np.asfortranarray,
    "strided": _strided,
    "backwards": _backwards,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "read-only": _read_only,
    "unaligned": _unaligned,
    "subclass": lambda x: x.view(Subclass),
    "long double": lambda x: x.astype(np.longdouble) if x.dtype.kind == "f" else x.astype("i8"),
}
"""Values and their kind stay: so do all bits of a result."""


# --- values that are none --------------------------------------------------------------------

HUGE = [2**31, 2**63, 2**64, 2**70, 1e18, 1e150, 1e300, 1.7976931348623157e308]
ODD_NUMBERS = [
    float("nan"),
    float("inf"),
    float("-inf"),
    0,
    0.0,
    -0.0,
    -1,
    -1e-300,
    5e-324,
    1e-150,
    1e-16,
    0.5,
    1,
    2.5,
    True,
    1j,
    np.float16(0.1),
    np.float32(1e-40),
    np.int8(-128),
    np.uint64(2**64 - 1),
    np.array(0.5),
    np.array([0.5]),
    np.datetime64("2026-11-22"),
    fractions.Fraction(1, 3),
    decimal.Decimal("0.1"),
    10**400,
    -(10**400),
]
STRANGERS = [
    None,
    "",
    "x",
    "auto",
    "rbf\0",
    b"bytes",
    object(),
    len,
    type,
    (),
    [],
    {},
    {"a": 1},
    set(),
    ...,
    [None],
    [[]],
    [[1.0, 2.0], [3.0]],
    ["a", "b"],
    [1, "b", None],
    range(3),
    iter([1.0]),
    np.array(None),
    np.zeros((0,)),
    np.zeros((0, 3)),
    np.zeros((3, 0)),
    np.zeros((2, 2, 2)),
    np.zeros((), dtype="V8"),
    np.zeros(3, dtype="f8,i4"),
    np.zeros(3, dtype="M8[s]"),
    np.array(["a", "b", "c"]),
    np.array([b"\xff"] * 4),
    sparse.csr_array(np.eye(3)),
    sparse.coo_matrix(np.eye(4)),
    np.ma.masked_less(np.arange(4.0), 2),
    np.ma.masked_all((4, 4)),
    np.matrix(np.eye(4)),
    memoryview(b"abcd"),
]


ENTRIES = {
    "NaN": np.nan,
    "infinity": -np.inf,
    "huge entry": 1e308,
    "large entry": 1e150,
    "tiny entry": 1e-310,
    "zero entry": 0.0,
    "negative entry": -7.5,
}
"""In the place of one entry of an array."""

WHOLE = {
    "all zero": np.zeros_like,
    "all equal": lambda x: np.full_like(x, x.flat[0] if x.size else 0),
    "times 1e150": lambda x: x * 1e150,
    "times 1e-150": lambda x: x * 1e-150,
    "times 1e-320": lambda x: x * 1e-320,
    "objects": lambda x: x.astype(object),
    "texts": lambda x: x.astype(str),
    "complex": lambda x: x.astype(complex),
    "half precision": lambda x: x.astype(np.float16),
    "single precision": lambda x: x.astype(np.float32),
    "bytes of integers": lambda x: x.astype(np.int8),
    "unsigned": lambda x: np.abs(x).astype(np.uint16),
    "booleans": lambda x: x.astype(bool),
    "nothing masked": np.ma.asarray,
    "sparse": lambda x: sparse.csr_array(np.atleast_2d(x.reshape(len(x), -1))),
    "one row less": lambda x: x[1:] if x.ndim else x,
    "first row everywhere": lambda x: np.repeat(x[:1], len(x), axis=0) if x.ndim else x,
    "one more dimension": lambda x: x[None],
    "one dimension less": lambda x: x.ravel()[: len(x)] if x.ndim > 1 else x.sum(),
    "column": lambda x: x.reshape(-1, 1),
    "turned": lambda x: x.T if x.ndim > 1 else x[::-1],
    "empty": lambda x: x[:0] if x.ndim else x,
    "one element": lambda x: x[:1] if x.ndim else x,
    "one entry": lambda x: x[:1, :1] if x.ndim == 2 else x,
    "matrix": lambda x: np.matrix(x) if x.ndim <= 2 else x,
    "datetimes": lambda x: x.astype("i8").astype("M8[s]"),
}
"""In the place of the array."""


def _masked(x, at):
    return np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == at % x.size)


def _row_twice(x, at):
    return np.concatenate([x[[at % len(x)]], x]) if x.ndim else x


def spoil(x, name, at):
    """Return an array that one of `SPOILED` has spoiled, some of them at a place."""
    if name in ENTRIES:
        x = x.astype(np.result_type(x.dtype, np.float64), copy=True)
        x.flat[at % max(x.size, 1) if x.size else slice(None)] = ENTRIES[name]
        return x
    return WHOLE[name](x) if name in WHOLE else AT_A_PLACE[name](x, at)


AT_A_PLACE = {"masked": _masked, "a row twice": _row_twice}
SPOILED = sorted([*ENTRIES, *WHOLE, *AT_A_PLACE])


@st.composite
def spoiled(draw, good):
    """Draw a hostile value in the place of a good one, and whether it asks for any work."""
    kind = draw(st.integers(0, 3))
    if isinstance(good, np.ndarray) and kind > 0 and good.dtype.kind in "biuf":
        name = draw(st.sampled_from(SPOILED))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return spoil(good, name, draw(st.integers(0, 50))), False
    if kind == 0:
        return draw(st.sampled_from(STRANGERS)), False
    value = draw(st.sampled_from(ODD_NUMBERS + HUGE) | st.floats() | st.integers(-3, 40))
    # Small tolerances ask for work as large budgets do.
    heavy = not isinstance(value, np.ndarray)
    return value, heavy
