"""Fits arrays with the package gensvm, to tighter and tighter tolerances; a JSON line per fit.

Started by `python_peers.py` with an interpreter of its own: gensvm 0.2.7 was seen to build with Python 3.10 but not
with 3.11, and to work with scikit-learn 1.0.2 but not with 1.9, which our package is for. Hence it imports nothing
from here:

    python3.10 -m venv gensvm
    gensvm/bin/pip install numpy==1.22.4 scipy==1.10.1 scikit-learn==1.0.2 "setuptools<60" "cython<3" wheel
    gensvm/bin/pip install --no-build-isolation --no-deps gensvm==0.2.7
    M3SVM_GENSVM_PYTHON=gensvm/bin/python make bench-python
"""

import json
import sys
import time
import warnings

import gensvm
import numpy as np


def main() -> None:
    """Command line: FILE LAMBDA KAPPA TOLERANCE..."""
    warnings.simplefilter("ignore")
    path, strength, kappa, *tolerances = sys.argv[1:]
    arrays = np.load(path)
    x, y = arrays["x"].astype(np.float64), arrays["y"].astype(np.int64)
    gensvm.GenSVM(max_iter=3).fit(x[:60], np.arange(60) % 3)  # loads what the first fit would have to
    for tol in map(float, tolerances):
        model = gensvm.GenSVM(p=1.0, lmd=float(strength), kappa=float(kappa), epsilon=tol, max_iter=10**8)
        seconds = []
        while len(seconds) < 3 and sum(seconds) < 5:  # as for the others
            begin = time.perf_counter()
            model.fit(x, y)
            seconds.append(time.perf_counter() - begin)
        found = {"tol": tol, "seconds": min(seconds), "v": model.coef_.tolist(), "b": model.intercept_.tolist()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
