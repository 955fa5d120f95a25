"""What ISM3 costs over cross-entropy in a training step of PyTorch.

Steps of both losses alternate in blocks, so that a machine that slows down slows both. Prints the median time of a
step and the extra cost of ISM3 in per cent, without and with `torch.compile`; its mode "reduce-overhead" replays a step
as one CUDA graph.

    python bench/torch_overhead.py [--device cuda] [--steps 400] [--compile] [--precision high] [--loss general]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from itertools import pairwise

import torch
from m3svm.torch import ISM3Loss
from torch import nn


def five_layers(channels: int, classes: int) -> nn.Sequential:
    """The paper's network for 32x32 images."""
    sizes = [channels, 16, 32, 64, 64, 64]
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Conv2d(before, after, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64, classes))


class Bottleneck(nn.Module):
    """A residual block of a network with 50 layers."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        """From `before` channels to four times `width`."""
        super().__init__()
        after = 4 * width
        self.path = nn.Sequential(
            nn.Conv2d(before, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        straight = stride == 1 and before == after
        short = [nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)]
        self.short = nn.Identity() if straight else nn.Sequential(*short)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The path and the short cut together."""
        return torch.relu(self.path(x) + self.short(x))


def fifty_layers(classes: int) -> nn.Sequential:
    """A residual network with 2,048 features before the last layer, for 224x224 images."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    before = 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            layers.append(Bottleneck(before, width, 2 if stage > 0 and block == 0 else 1))
            before = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


#: What softmax is compared with, by the last layer: ISM3 in one kernel where that is possible, ISM3 in kernels of
#: PyTorch, or softmax itself, which shows the noise.
LOSSES: dict[str, Callable[[nn.Linear], nn.Module]] = {
    "fused": lambda head: ISM3Loss(head, lam=1e-3, p=4),
    "general": lambda head: ISM3Loss(head, lam=1e-3, p=4, fused=False),
    "softmax": lambda head: nn.CrossEntropyLoss(),
}


def step_seconds(
    net: nn.Sequential, images: torch.Tensor, labels: torch.Tensor, steps: int, mode: str, loss: str
) -> dict[str, float]:
    """Median seconds of a training step with each loss, in a mode of `torch.compile` or without it ("eager")."""
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4, fused=images.is_cuda)
    losses = {"softmax": nn.CrossEntropyLoss(), "ism3": LOSSES[loss](net[-1])}

    def trainer(loss: nn.Module) -> Callable[[], None]:
        def forward() -> torch.Tensor:
            return loss(net(images), labels)

        forward = forward if mode == "eager" else torch.compile(forward, mode=mode)

        def step() -> None:
            if mode == "reduce-overhead":
                # Memory of the step before may be used again.
                torch.compiler.cudagraph_mark_step_begin()
            optimizer.zero_grad(set_to_none=True)
            forward().backward()
            optimizer.step()

        return step

    trainers = {name: trainer(loss) for name, loss in losses.items()}
    wait = torch.cuda.synchronize if images.is_cuda else (lambda: None)
    for step in trainers.values():
        for _ in range(10):
            step()
    block, times = 20, {name: [] for name in trainers}
    for _ in range(max(1, steps // block)):
        for name, step in trainers.items():
            wait()
            start = time.perf_counter()
            for _ in range(block):
                step()
            wait()
            times[name].append((time.perf_counter() - start) / block)
    return {name: statistics.median(t) for name, t in times.items()}


def main() -> None:
    """Reads the arguments and runs all cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=400, help="steps of each loss")
    parser.add_argument("--compile", action="store_true", help="also with torch.compile, plain and with CUDA graphs")
    parser.add_argument("--precision", choices=["highest", "high", "medium"], help="of float32 matrix products")
    parser.add_argument("--large", action="store_true", help="also 50 layers, 1,000 classes and 2,048 features")
    parser.add_argument("--loss", choices=LOSSES, default="fused", help="what is compared with softmax")
    arguments = parser.parse_args()
    if arguments.precision is not None:
        torch.set_float32_matmul_precision(arguments.precision)
    torch.manual_seed(0)
    modes = ["eager", "default", "reduce-overhead"] if arguments.compile else ["eager"]
    cases = [("five layers", 10, batch, lambda: five_layers(1, 10), (1, 32, 32)) for batch in (128, 1024)]
    if arguments.large:
        cases.append(("fifty layers", 1000, 64, lambda: fifty_layers(1000), (3, 224, 224)))
    print(f"torch {torch.__version__} on {arguments.device}")
    for name, classes, batch, network, shape in cases:
        for mode in modes:
            if mode != "eager":
                # What was compiled for the case before must not count against the limit of recompilations of this one.
                torch._dynamo.reset()
            net = network().to(arguments.device)
            images = torch.randn(batch, *shape, device=arguments.device)
            labels = torch.randint(classes, (batch,), device=arguments.device)
            steps = arguments.steps if classes == 10 else arguments.steps // 4
            seconds = step_seconds(net, images, labels, steps, mode, arguments.loss)
            extra = 100.0 * (seconds["ism3"] / seconds["softmax"] - 1.0)
            how = {"eager": "eager", "default": "compiled"}.get(mode, f"compiled ({mode})")
            print(
                f"{name}, {classes} classes, batch {batch}, {how}: "
                f"softmax {1e3 * seconds['softmax']:.3f} ms, ISM3 {1e3 * seconds['ism3']:.3f} ms, extra {extra:+.1f} %"
            )
            print(json.dumps({"network": name, "classes": classes, "batch": batch, "how": how, **seconds}))


if __name__ == "__main__":
    main()
