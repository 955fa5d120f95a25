"""The image sets of the experiments, as bytes: IDX files, NPZ archives, folders of JPEG or PNG files."""

import gzip
import struct
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np


def read(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[str], str]:
    """Training images (N x C x H x W, uint8) and labels, test images and labels, class names, checksum."""
    files = (folder / "train").is_dir()
    if files:
        names = sorted(p.name for p in (folder / "train").iterdir() if p.is_dir() and not p.name.startswith("."))
        parts = [_files(folder / part, names) for part in ("train", "test")]
    elif any(folder.glob("train-images-idx3-ubyte*")):
        parts = [_idx(folder, part) for part in ("train", "t10k")]
        names = None
    else:
        parts = [_npz(folder, part) for part in ("train", "test")]
        names = None
    (x, y), (u, v) = parts
    listed = folder / "classes.txt"
    if names is None:
        names = [n.strip() for n in listed.read_text().split("\n")] if listed.exists() else []
        names = [n for n in names if n] or [str(k) for k in range(int(max(y.max(), v.max())) + 1)]
    x, u = _framed(x), _framed(u)
    if files:
        sums = [[zlib.crc32(p.read_bytes()) for p, _ in _paths(folder / part, names)] for part in ("train", "test")]
    else:
        sums = [[zlib.crc32(np.ascontiguousarray(image)) for image in part] for part in (x, u)]
    return x, y, u, v, names, checksum(x.shape[1:], [(sums[0], y), (sums[1], v)], names)


def checksum(shape, parts, names: list[str]) -> str:
    """The number by which `m3svm-deep` knows a data set. `parts`: checksums and labels of training and of test images."""
    total = zlib.crc32(("x".join(map(str, shape)) + "\n").encode())
    for sums, labels in parts:
        both = np.stack([np.asarray(sums, np.uint32), np.asarray(labels, np.uint32)], 1)
        total = zlib.crc32(both.astype("<u4").tobytes() + b"\n", total)
    return f"{zlib.crc32(''.join(name + chr(10) for name in names).encode(), total):08x}"


def _idx(folder: Path, part: str):
    def array(name: str, dimensions: int) -> np.ndarray:
        data = gzip.decompress(next(folder.glob(f"{part}-{name}-ubyte.gz")).read_bytes())
        shape = struct.unpack(f">{dimensions}I", data[4 : 4 + 4 * dimensions])
        return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape)

    return array("images-idx3", 3)[:, None], array("labels-idx1", 1).astype(np.int64)


def _npz(folder: Path, part: str):
    path = next(folder.glob(f"*{part}.npz"), None)
    if path is None:
        raise SystemExit(f"{folder}: no {part} images (neither IDX files, nor *{part}.npz, nor a folder {part} of image folders)")
    with np.load(path) as file:
        return file["x"], file["y"].astype(np.int64)


def _files(folder: Path, names: list[str]):
    paths = _paths(folder, names)
    with ProcessPoolExecutor() as pool:
        images = list(pool.map(_pixels, [p for p, _ in paths], chunksize=500))
    return np.stack(images), np.array([k for _, k in paths], np.int64)


def _paths(folder: Path, names: list[str]):
    inside = [(p, k) for k, name in enumerate(names) for p in sorted((folder / name).iterdir())]
    return [(p, k) for p, k in inside if p.suffix.lower() in (".jpg", ".jpeg", ".png")]


def _pixels(path: Path) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(path).convert("RGB")).transpose(2, 0, 1)


def _framed(x: np.ndarray) -> np.ndarray:
    """A black frame around images of less than 32 pixels a side."""
    h, w = max(32 - x.shape[2], 0), max(32 - x.shape[3], 0)
    return np.pad(x, ((0, 0), (0, 0), (h // 2, h - h // 2), (w // 2, w - w // 2)))
