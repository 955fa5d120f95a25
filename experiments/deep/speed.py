"""What ISM3 costs in PyTorch where its penalty is written down as it is defined and left to autograd, step by step and as a CUDA graph.

What `m3svm.torch` is measured against; what that costs, `bench/torch_overhead.py` says.
"""

import time

import torch
from compare import Cnn
from torch.nn import functional as F

WARM_UP, STEPS, ROUNDS = 10, 200, 5
LAM, EPSILON = 1e-3, 1e-6


def penalty(head):
    """lambda * sum over pairs of |w_k - w_l|^4 + epsilon * (|W|^2 + |b|^2)."""
    k, m = torch.triu_indices(len(head.weight), len(head.weight), 1, device=head.weight.device)
    squares = (head.weight[k] - head.weight[m]).square().sum(1)
    ridge = head.weight.square().sum() + head.bias.square().sum()
    return LAM * squares.square().sum() + EPSILON * ridge


def stepper(batch, ism3, recorded):
    """A function that does one step, as single kernels or as a recorded graph."""
    torch.manual_seed(0)
    net = Cnn(1, 10).cuda()
    adam = torch.optim.AdamW(net.parameters(), lr=torch.tensor(1e-3, device="cuda"), fused=True, capturable=True)
    x, y = torch.rand(batch, 1, 32, 32, device="cuda"), torch.arange(batch, device="cuda") % 10

    def step():
        loss = F.cross_entropy(net(x), y)
        if ism3:
            loss = loss + penalty(net.head)
        adam.zero_grad(set_to_none=False)
        loss.backward()
        adam.step()

    if not recorded:
        return step
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


def milliseconds(step, steps):
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - started) / steps


def main():
    print("kind,batch,softmax_ms,ism3_ms,overhead_percent,softmax_images_per_second")
    for recorded in (False, True):
        for batch in (128, 1024):
            steps = [stepper(batch, ism3, recorded) for ism3 in (False, True)]
            for step in steps:
                milliseconds(step, WARM_UP)
            times = [[milliseconds(step, STEPS) for step in steps] for _ in range(ROUNDS)]
            a, b = (sorted(t)[ROUNDS // 2] for t in zip(*times))
            kind = "recorded" if recorded else "single kernels"
            print(f"{kind},{batch},{a:.4f},{b:.4f},{100 * (b / a - 1):.1f},{1e3 * batch / a:.0f}", flush=True)


if __name__ == "__main__":
    main()
