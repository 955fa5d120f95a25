"""The cells of the atlas, and the data of each: generated from its numbers, so that nobody has to keep them.

    python bench/atlas_data.py FILE '{"rows": 2000, "features": 20, "classes": 500}'

writes those of a cell as `bench/versions.rs` reads them.
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from problem import data_file, read

Matrix = np.ndarray | sp.csr_matrix


@dataclass(frozen=True)
class Cell:
    """One shape of data and what is fitted to it."""

    method: str
    rows: int = 3000
    features: int = 50
    classes: int = 10
    #: "dense", "sparse" (1 % of the entries) or "text": frequencies fall with the rank of a word, rows of length 1.
    density: str = "dense"
    intercept: bool = True
    dtype: str = "float64"
    #: "standard", "raw" (deviations from 0.01 to 100) or "shifted" (means a hundred deviations from 0).
    scaling: str = "standard"
    #: The share of labels that are drawn anew.
    noise: float = 0.1
    #: How far apart the classes are, in deviations.
    apart: float = 1.0
    #: "balanced" or "long-tailed": the k-th class has a share of 1/k.
    balance: str = "balanced"
    #: C of other programs.
    cost: float = 1.0
    #: A data set of that name instead: "news20" (logarithms of counts, rows of length 1) or "mnist" (the first rows, from 0 to 1).
    data: str = ""


#: One step from the middle along every axis, ...
AXES: dict[str, tuple[object, ...]] = {
    "rows": (100, 1000, 10_000, 100_000, 1_000_000),
    "features": (2, 10, 200, 1000, 10_000),
    "classes": (2, 100, 500, 2000),
    "density": ("sparse", "text"),
    "intercept": (False,),
    "dtype": ("float32",),
    "scaling": ("raw", "shifted"),
    "noise": (0.0, 0.5),
    "apart": (0.1, 3.0),
    "balance": ("long-tailed",),
    "cost": (1e-3, 1e-1, 10.0),
}
#: ... and corners where two or more come together, as they do for those who have such data.
CORNERS: tuple[dict[str, object], ...] = (
    {"rows": 20_000, "features": 30_000, "classes": 20, "density": "text"},
    {"rows": 20_000, "features": 30_000, "classes": 20, "density": "text", "intercept": False},
    {"rows": 2000, "features": 20, "classes": 500},
    {"rows": 10_000, "features": 50, "classes": 100},
    {"rows": 20_000, "features": 784, "classes": 10, "dtype": "float32"},
    {"rows": 20_000, "features": 784, "classes": 10},
    {"rows": 20_000, "features": 512, "classes": 2000, "dtype": "float32"},
    {"rows": 400, "features": 10_000, "classes": 40},
    {"rows": 100_000, "features": 10, "classes": 2, "scaling": "raw"},
)
#: Shapes beside those that the solver was tuned on, each with a method and what others have for it.
_CROWD: dict[str, object] = {"rows": 2000, "features": 20, "classes": 500}
_IMAGES: dict[str, object] = {"rows": 20_000, "features": 784, "classes": 10, "data": "mnist"}
TABLE: tuple[tuple[Cell, str], ...] = (
    *((Cell(method, data="news20"), peer) for method, peer in (("ovr", "ovr"), ("cs", "cs"), ("ww", "cs"))),
    *((Cell(method, data="news20", intercept=False), method) for method in ("ovr", "cs")),
    *((Cell(method, **_CROWD), peer) for method, peer in (("cs", "cs"), ("ovo", "ovo"), ("m3svm", "cs"), ("lr", "lr"))),  # type: ignore[arg-type]
    (Cell("cs", rows=10_000, features=50, classes=100), "cs"),
    *(
        (Cell(method, dtype=dtype, **_IMAGES), peer)
        for method, peer in (("lr", "lr"), ("cs", "cs"), ("topk", "cs"))
        for dtype in ("float32", "float64")
    ),  # type: ignore[arg-type]
)
METHODS = ("ovr", "cs", "ovo", "lr", "smlr", "m3svm", "ww")
#: What more numbers than this would take is not tried: 800 MB.
MOST_NUMBERS = 10**8


def grid(small: bool) -> list[Cell]:
    """All cells, or few of them that take minutes."""
    shapes: list[dict[str, object]] = [{}]
    shapes += [{axis: value} for axis, values in AXES.items() for value in values]
    shapes += CORNERS
    cells = [Cell(method, **shape) for shape in shapes for method in METHODS]  # type: ignore[arg-type]
    cells = [_text(cell) for cell in cells]
    if small:
        cells = [cell for cell in cells if cell.rows * cell.features <= 10**6 and cell.classes <= 500]
    return [cell for cell in cells if cell.density != "dense" or cell.rows * cell.features <= MOST_NUMBERS]


def _text(cell: Cell) -> Cell:
    return replace(cell, features=5000) if cell.density == "text" and cell.features == Cell.features else cell


def make(cell: Cell) -> tuple[Matrix, np.ndarray]:
    """The data of a cell."""
    if cell.data:
        return _real(cell)
    random = np.random.default_rng([cell.rows, cell.features, cell.classes])
    shares = 1.0 / np.arange(1, cell.classes + 1) if cell.balance == "long-tailed" else np.ones(cell.classes)
    y = random.choice(cell.classes, size=cell.rows, p=shares / shares.sum())
    # Every class has a row.
    y[: min(cell.rows, cell.classes)] = np.arange(min(cell.rows, cell.classes))
    x = _dense(cell, y, random) if cell.density == "dense" else _sparse(cell, y, random)
    drawn = random.random(cell.rows) < cell.noise
    drawn[: cell.classes] = False
    y = np.where(drawn, random.choice(cell.classes, size=cell.rows, p=shares / shares.sum()), y)
    return x, y


def _dense(cell: Cell, y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    centres = random.normal(size=(cell.classes, cell.features)) * cell.apart / np.sqrt(max(1.0, cell.features / 50))
    x = centres[y] + random.normal(size=(cell.rows, cell.features))
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
    if cell.scaling == "raw":
        x *= 10.0 ** random.uniform(-2, 2, size=cell.features)
    if cell.scaling == "shifted":
        x += 100.0
    return np.ascontiguousarray(x, dtype=cell.dtype)


def _sparse(cell: Cell, y: np.ndarray, random: np.random.Generator) -> sp.csr_matrix:
    is_text = cell.density == "text"
    length = 80 if is_text else max(1, cell.features // 100)
    weights = 1.0 / np.arange(1, cell.features + 1) if is_text else np.ones(cell.features)
    # A quarter of the words of a row are those of its class.
    common = random.choice(cell.features, size=(cell.rows, length), p=weights / weights.sum())
    own = (random.integers(0, 50, size=(cell.rows, length)) * 7919 + y[:, None] * 104_729) % cell.features
    columns = np.where(random.random((cell.rows, length)) < 0.25 * min(cell.apart, 3.0), own, common)
    rows = np.repeat(np.arange(cell.rows), length)
    x = sp.coo_matrix((np.ones(rows.size), (rows, columns.ravel())), shape=(cell.rows, cell.features)).tocsr()
    if is_text:
        x.data = np.log1p(x.data)
        rare = np.log((1 + cell.rows) / (1 + np.bincount(x.indices, minlength=cell.features)))
        x = sp.csr_matrix(x @ sp.diags(rare + 1.0))
        x = sp.csr_matrix(sp.diags(1.0 / np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())) @ x)
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x.astype(cell.dtype)


def _real(cell: Cell) -> tuple[Matrix, np.ndarray]:
    if cell.data == "mnist":
        folder = data_file("iris").parent / "mnist"
        with (
            gzip.open(folder / "train-images-idx3-ubyte.gz") as images,
            gzip.open(folder / "train-labels-idx1-ubyte.gz") as labels,
        ):
            x = np.frombuffer(images.read(), np.uint8, offset=16).reshape(-1, 784)[: cell.rows] / 255.0
            return x.astype(cell.dtype), np.frombuffer(labels.read(), np.uint8, offset=8)[: cell.rows].astype(np.int64)
    counts, y = read(cell.data)
    x = sp.csr_matrix(counts)
    x.data = np.log1p(x.data)
    lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    x = sp.csr_matrix(sp.diags(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ x)
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x.astype(cell.dtype), y


def write(path: str, x: Matrix, y: np.ndarray) -> None:
    """A file for `versions.rs`."""
    is_sparse = sp.issparse(x)
    with open(path, "wb") as file:
        np.array([int(is_sparse), *x.shape], dtype=np.uint64).tofile(file)
        y.astype(np.uint64).tofile(file)
        if is_sparse:
            x.indptr.astype(np.uint64).tofile(file)
            x.indices.astype(np.uint64).tofile(file)
        (x.data if is_sparse else np.ascontiguousarray(x)).astype(np.float64).tofile(file)


if __name__ == "__main__":
    write(sys.argv[1], *make(Cell("", **json.loads(sys.argv[2]))))
