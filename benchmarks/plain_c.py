"""The plain C epoch as a yardstick, where a C compiler is installed."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def plain_epoch(X, y, v):
    """Return a function that does one epoch with lam = 1/n, or None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    source = Path(__file__).with_name("plain_epoch.c")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "plain_epoch.so"
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library]
        subprocess.run(command, check=True)
        function = ctypes.CDLL(str(library)).epoch
    n, d = X.shape
    arrays = (np.arange(n, dtype=np.int32), X.indptr, X.indices, X.data, y, np.ascontiguousarray(v))
    alpha, w, seed = np.zeros(n), np.zeros(d), [0]

    def epoch():
        seed[0] += 1
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (*arrays, alpha, w)]
        function(n, *pointers, ctypes.c_double(1.0), ctypes.c_uint64(seed[0]))

    return epoch
