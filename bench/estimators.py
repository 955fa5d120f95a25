"""Processor time and peak memory of scikit-learn's estimators with their own settings, on a file of `atlas_data.py`.

    python bench/estimators.py FILE cs ovo lr

One thread; the peak is what a fit adds to what the process held before it.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # read when NumPy is loaded, hence before the imports

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.svm import SVC, LinearSVC  # noqa: E402

PEERS = {
    "ovr": lambda: LinearSVC(loss="hinge", random_state=0),
    "cs": lambda: LinearSVC(multi_class="crammer_singer", random_state=0),
    "ovo": lambda: SVC(kernel="linear"),
    "lr": lambda: LogisticRegression(max_iter=1000),
}


def read(path: str) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray]:
    """What `atlas_data.write` has written."""
    words = np.fromfile(path, dtype=np.uint64)
    is_sparse, n, d = words[:3].astype(int)
    y, rest = words[3 : 3 + n].astype(int), words[3 + n :]
    if not is_sparse:
        return rest.view(np.float64).reshape(n, d), y
    starts = rest[: n + 1].astype(np.int32)
    columns, values = rest[n + 1 : n + 1 + starts[-1]].astype(np.int32), rest[n + 1 + starts[-1] :].view(np.float64)
    return sp.csr_matrix((values, columns, starts), shape=(n, d)), y


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    _x, _y = read(sys.argv[1])
    for _method in sys.argv[2:]:
        _estimator = PEERS[_method]()
        _held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _started = time.process_time()
        _estimator.fit(_x, _y)
        _seconds = time.process_time() - _started
        _added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - _held) // 1024
        print(f"{type(_estimator).__name__} {_method}: {_seconds:.3f} s, {_added} MB", flush=True)
