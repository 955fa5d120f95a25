"""Softmax, softmax with weight decay, softmax with label smoothing and ISM3 on one image set, in PyTorch.

The protocol of `m3svm-deep compare`, for machines where PyTorch has the GPU: every method is tuned on a tenth of the training images,
then trained on all of them with several seeds. Finished trainings are lines of OUT/runs.jsonl, in the format of `m3svm-deep`, which
draws tables and figures from them at the end, with --tables. On a GPU, training steps are CUDA graphs, and several trainings run side by side.
The loss is that of the Python package, from this repository; it need not be built or installed.

    python experiments/deep/compare.py DATA --out OUT --tables target/release/m3svm-deep
"""

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path

import images
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from m3svm.torch import ISM3Loss  # noqa: E402
from m3svm.torch import margins as margins_of  # noqa: E402

EVALUATION_BATCH = 2000


class Cnn(nn.Module):
    """The paper's network: 5x5 convolutions with 16, 32, 64, 64 and 64 filters, each followed by ReLU and 2x2 pooling."""

    def __init__(self, channels: int, classes: int):
        super().__init__()
        filters = [channels, 16, 32, 64, 64, 64]
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 5, padding=2) for a, b in zip(filters, filters[1:]))
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        for layer in self.layers:
            x = F.max_pool2d(F.relu(layer(x)), 2)
        return self.head(x.flatten(1))


def criterion(head, settings):
    """The loss of a training: that of PyTorch, or that of this repository."""
    if settings["loss"] == "ism3":
        more = {"lam": settings["lambda"], "p": settings["p"], "epsilon": settings["epsilon"]}
        return ISM3Loss(head, **more, label_smoothing=settings["smoothing"])
    return nn.CrossEntropyLoss(label_smoothing=settings["smoothing"])


class Images:
    """Images on the device as bytes, with the tone of the training images."""

    def __init__(self, x, y, mean, deviation, device):
        self.x, self.y = torch.from_numpy(np.ascontiguousarray(x)).to(device), torch.from_numpy(y).to(device)
        self.mean, self.deviation = mean, deviation

    def batch(self, numbers):
        return (self.x[numbers].float() - self.mean) / self.deviation, self.y[numbers]


class Training:
    """One training, a step at a time. On a GPU the step is recorded once and replayed on a stream of its own."""

    def __init__(self, settings, seed, data, classes, device):
        self.settings, self.seed, self.data, self.device = settings, seed, data, device
        torch.manual_seed(seed)
        self.net = Cnn(data["train"].x.shape[1], classes).to(device)
        self.criterion = criterion(self.net.head, settings)
        self.first = margins(self.net.head)
        cuda = device.type == "cuda"
        self.rate = torch.tensor(settings["rate"], device=device) if cuda else settings["rate"]
        more = {"fused": True, "capturable": True} if cuda else {}
        self.adam = torch.optim.AdamW(self.net.parameters(), lr=self.rate, weight_decay=settings["decay"], **more)
        self.sums = torch.zeros(2, device=device)
        self.numbers = torch.zeros(settings["batch"], dtype=torch.long, device=device)
        self.history, self.graph = [], None
        if cuda:
            self.stream = torch.cuda.Stream()
            self._record()

    def _step(self):
        x, y = self.data["train"].batch(self.numbers)
        z = self.net(x)
        loss = self.criterion(z, y)
        self.adam.zero_grad(set_to_none=False)
        loss.backward()
        self.adam.step()
        self.sums += torch.stack([loss.detach(), (z.argmax(1) == y).float().mean()])

    def _record(self):
        """Steps to warm up leave their mark on the weights, so these and the optimiser are put back."""
        before = [p.detach().clone() for p in self.net.parameters()]
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self._step()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self._step()
        torch.cuda.synchronize()
        with torch.no_grad():
            for p, b in zip(self.net.parameters(), before):
                p.copy_(b)
                for value in self.adam.state[p].values():
                    value.zero_()
            self.sums.zero_()
        torch.cuda.synchronize()

    def begin_epoch(self):
        count, batch = len(self.data["train"].y), self.settings["batch"]
        order = np.random.default_rng([self.seed, len(self.history)]).permutation(count)
        self.steps = count // batch
        self.order = torch.from_numpy(order).to(self.device)[: self.steps * batch].view(self.steps, batch)

    def step(self, n):
        done, every = len(self.history) * self.steps + n, self.settings["epochs"] * self.steps
        rate = self.settings["rate"]
        if self.settings["schedule"] == "cosine":
            rate *= 0.5 * (1 + math.cos(math.pi * done / every))
        if self.graph is None:
            self.adam.param_groups[0]["lr"] = rate
            self.numbers = self.order[n]
            self._step()
            return
        with torch.cuda.stream(self.stream):
            self.rate.fill_(rate)
            self.numbers.copy_(self.order[n])
            self.graph.replay()

    def end_epoch(self, seconds):
        loss, hits = (self.sums / self.steps).tolist()
        self.sums.zero_()
        if not math.isfinite(loss):
            raise SystemExit(f"training diverged: {self.settings}, seed {self.seed}")
        test_loss, test = evaluate(self.net, self.data["test"])
        self.history.append(
            {
                "epoch": len(self.history) + 1,
                "train_loss": loss,
                "train_accuracy": hits,
                "validation_accuracy": evaluate(self.net, self.data["part"])[1] if self.data["part"] else None,
                "test_loss": test_loss,
                "test_accuracy": test,
                "min_margin": min(m for m in margins(self.net.head) if m is not None),
                "images_per_second": self.steps * self.settings["batch"] / seconds,
            }
        )

    def result(self):
        return {
            "settings": self.settings,
            "seed": self.seed,
            "images": len(self.data["train"].y),
            "history": self.history,
            "first_margins": self.first,
            "last_margins": margins(self.net.head),
        }


@torch.no_grad()
def margins(head):
    """2/|w_k - w_l| for all pairs, c x c, with the digits that a journal needs; None for infinite."""
    every = margins_of(head.weight.double()).flatten().tolist()
    return [float(f"{m:.7g}") if math.isfinite(m) else None for m in every]


@torch.no_grad()
def evaluate(net, part):
    losses = hits = 0.0
    for start in range(0, len(part.y), EVALUATION_BATCH):
        x, y = part.batch(slice(start, start + EVALUATION_BATCH))
        z = net(x)
        losses += F.cross_entropy(z, y, reduction="sum").double()
        hits += (z.argmax(1) == y).sum()
    return float(losses) / len(part.y), float(hits) / len(part.y)


def train_all(tasks, data, checksum, classes, device, jobs, journal):
    """Trainings in groups of `jobs`, their steps in turns, on the data of a checksum."""
    known = {}
    if journal.exists():
        for line in journal.read_text().splitlines():
            run = json.loads(line)
            if run.get("data") != checksum:
                raise SystemExit(f"{journal} holds trainings on other images; choose another folder for these")
            known[key(run["settings"], run["seed"], run["images"])] = run
    at = [key(s, seed, len(data["train"].y)) for s, seed in tasks]
    left = [n for n, k in enumerate(at) if k not in known]
    for start in range(0, len(left), jobs):
        begun = time.time()
        group = [Training(*tasks[n], data, classes, device) for n in left[start : start + jobs]]
        for _ in range(tasks[0][0]["epochs"]):
            started = time.time()
            for training in group:
                training.begin_epoch()
            synchronize(device)
            for n in range(group[0].steps):
                for training in group:
                    training.step(n)
            synchronize(device)
            for training in group:
                training.end_epoch(time.time() - started)
        with journal.open("a") as file:
            for n, training in zip(left[start : start + jobs], group):
                known[at[n]] = {**training.result(), "data": checksum}
                file.write(json.dumps(known[at[n]]) + "\n")
        speed = sum(t.history[-1]["images_per_second"] for t in group)
        print(f"{len(group)} trainings in {time.time() - begun:.1f} s, {speed:.0f} images/s", flush=True)
    return [known[k] for k in at]


def key(settings, seed, count):
    return json.dumps([settings, seed, count], sort_keys=True)


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def methods(args):
    """Name, searched setting and candidates."""
    plain = {
        "loss": "softmax",
        "lambda": 0.0,
        "p": 4.0,
        "epsilon": 1e-6,
        "delta": 0.01,
        "smoothing": 0.0,
        "network": "cnn",
        "epochs": args.epochs,
        "batch": args.batch,
        "rate": args.rate,
        "schedule": args.schedule,
        "decay": 0.0,
        "augment": False,
        "validation": 0.0,
        "patience": 0,
    }
    return [
        ("softmax", None, [plain]),
        ("softmax + weight decay", "decay", [{**plain, "decay": v} for v in args.decays]),
        ("softmax + label smoothing", "smoothing", [{**plain, "smoothing": v} for v in args.smoothings]),
        ("ism3", "lambda", [{**plain, "loss": "ism3", "lambda": v} for v in args.lambdas]),
    ]


def main():
    numbers = lambda text: [float(v) for v in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--schedule", choices=["cosine", "constant"], default="cosine")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tune-seeds", type=int, default=2)
    parser.add_argument("--lambdas", type=numbers, default="1e-7,1e-6,1e-5,1e-4,1e-3,1e-2,1e-1,1,10,100")
    parser.add_argument("--decays", type=numbers, default="0.001,0.003,0.01,0.03,0.1,0.3,1,3")
    parser.add_argument("--smoothings", type=numbers, default="0.05,0.1,0.2,0.3,0.4,0.5,0.6")
    parser.add_argument("--jobs", type=int, default=8, help="trainings side by side on a GPU")
    parser.add_argument("--tables", metavar="BINARY", help="the program m3svm-deep, called at the end for tables and figures")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # What PyTorch does by itself, said here so that it stays so.
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = True, False
    args.out.mkdir(parents=True, exist_ok=True)
    x, y, u, v, names, checksum = images.read(args.data)
    print(f"{args.data.name}: {len(y)} training and {len(v)} test images, {len(names)} classes, {device}", flush=True)

    def held(part):
        """The images of a training, with a tenth of them cut off for the search."""
        order = np.random.default_rng(0).permutation(len(y))
        rows, cut = (np.sort(order[len(y) // 10 :]), np.sort(order[: len(y) // 10])) if part else (order * 0, None)
        a, b = (x[rows], y[rows]) if part else (x, y)
        mean = torch.tensor(a.mean((0, 2, 3), dtype=np.float64), device=device).float().view(-1, 1, 1)
        deviation = torch.tensor(a.std((0, 2, 3), dtype=np.float64), device=device).float().view(-1, 1, 1)
        tone = (mean, deviation, device)
        return {
            "train": Images(a, b, *tone),
            "part": Images(x[cut], y[cut], *tone) if part else None,
            "test": Images(u, v, *tone),
        }

    everything = methods(args)
    journal = args.out / "runs.jsonl"
    tasks = [
        ({**s, "validation": 0.1}, 1000 + seed) for _, _, each in everything for s in each for seed in range(args.tune_seeds)
    ]
    tuned = train_all(tasks, held(True), checksum, len(names), device, args.jobs, journal)
    score = {}
    for run in tuned:
        score.setdefault(key({**run["settings"], "validation": 0.0}, 0, 0), []).append(run["history"][-1]["validation_accuracy"])
    chosen = [(n, what, max(each, key=lambda s: np.mean(score[key(s, 0, 0)]))) for n, what, each in everything]
    tasks = [(s, seed) for _, _, s in chosen for seed in range(args.seeds)]
    runs = train_all(tasks, held(False), checksum, len(names), device, args.jobs, journal)
    for m, (name, what, settings) in enumerate(chosen):
        last = [r["history"][-1]["test_accuracy"] for r in runs[m * args.seeds : (m + 1) * args.seeds]]
        setting = f"{what} {settings[what]:g}" if what else ""
        print(f"{name:<26} {setting:<16} test {np.mean(last):.4f} ± {np.std(last, ddof=1) if len(last) > 1 else 0:.4f}", flush=True)
    if args.tables:
        subprocess.run([args.tables, *tables(args)], check=True)


def tables(args):
    """Arguments of `m3svm-deep` for the same comparison, all of whose trainings the journal holds."""
    listed = lambda values: ",".join(map(repr, values))  # noqa: E731
    return [
        *("compare", str(args.data), "--out", str(args.out), "--epochs", str(args.epochs), "--batch", str(args.batch)),
        *("--rate", repr(args.rate), "--schedule", args.schedule, "--seeds", str(args.seeds)),
        *("--tune-seeds", str(args.tune_seeds), "--lambdas", listed(args.lambdas)),
        *("--decays", listed(args.decays), "--smoothings", listed(args.smoothings)),
    ]


if __name__ == "__main__":
    main()
