"""The kernel behind the fused loss: cross-entropy, penalty and all their gradients in one launch.

The first programs take blocks of rows of the batch, the others blocks of class vectors. Each writes its part of the
value to a place of its own, and the last one that is done adds them, in the same order every time: the same input has
the same loss, to the bit.

Only importable where Triton is.
"""

from __future__ import annotations

import triton
import triton.language as tl

#: Parts of the value that are added at a time.
ADDED = tl.constexpr(128)


# `debug` lets an assertion about the targets stop the program, as that of torch's own loss does. Pointers may be aligned
# or not, and the batch may have any size, without another compilation.
@triton.jit(
    debug=True,
    do_not_specialize=["batch"],
    do_not_specialize_on_alignment=[
        *("logits", "target", "weight", "bias"),
        *("logits_out", "weight_out", "bias_out", "value_out", "parts", "counter"),
    ],
)
def ism3(
    logits,
    target,
    weight,
    bias,
    logits_out,
    weight_out,
    bias_out,
    value_out,
    parts,
    counter,
    lam,
    lam_rest,
    epsilon,
    epsilon_rest,
    batch,
    CLASSES: tl.constexpr,
    FEATURES: tl.constexpr,
    CLASS_BLOCK: tl.constexpr,
    FEATURE_BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    VECTORS: tl.constexpr,
    OTHERS: tl.constexpr,
    PAIRS: tl.constexpr,
    BIAS: tl.constexpr,
    POWER: tl.constexpr,
    WHOLE: tl.constexpr,
    FRACTION: tl.constexpr,
    TINY: tl.constexpr,
    MEAN: tl.constexpr,
    IGNORED: tl.constexpr,
    SMOOTHING: tl.constexpr,
    NUMBER: tl.constexpr,
):
    """Writes the value and the gradients of logits, weight and bias. The counter has to be 0 and is so afterwards."""
    program = tl.program_id(0)
    row_programs = tl.cdiv(batch, ROWS)
    if program < row_programs:
        value = _cross_entropy(
            logits, target, logits_out, batch, program, CLASSES, CLASS_BLOCK, ROWS, MEAN, IGNORED, SMOOTHING, NUMBER
        )
    else:
        block = program - row_programs
        # Arguments arrive in single precision; what it cannot hold comes separately.
        strength = tl.full((), 0.0, NUMBER) + lam + lam_rest
        ridge = tl.full((), 0.0, NUMBER) + epsilon + epsilon_rest
        value = _penalty(
            weight,
            weight_out,
            strength,
            ridge,
            block,
            CLASSES,
            FEATURES,
            FEATURE_BLOCK,
            VECTORS,
            OTHERS,
            PAIRS,
            POWER,
            WHOLE,
            FRACTION,
            TINY,
            NUMBER,
        )
        if BIAS:
            k = block * VECTORS + tl.arange(0, VECTORS)
            b = tl.load(bias + k, mask=k < CLASSES, other=0.0).to(NUMBER)
            value += ridge * tl.sum(b * b, 0)
            tl.store(bias_out + k, 2.0 * ridge * b, mask=k < CLASSES)
    _add_up(value, parts, counter, value_out, NUMBER)


@triton.jit
def _add_up(value, parts, counter, value_out, NUMBER: tl.constexpr):
    """Keeps the part of this program, and adds all of them if it is the last one that is done."""
    programs = tl.num_programs(0)
    tl.store(parts + tl.program_id(0), value)
    # The count releases the part of this program and acquires those of the programs before.
    tl.debug_barrier()
    done = tl.atomic_add(counter, 1, sem="acq_rel")
    if done == programs - 1:
        total = tl.zeros((ADDED,), NUMBER)
        for start in range(0, programs, ADDED):
            place = start + tl.arange(0, ADDED)
            # Past the cache next to the processor, which does not see what others write.
            total += tl.load(parts + place, mask=place < programs, other=0.0, cache_modifier=".cg")
        tl.store(value_out, tl.sum(total, 0))
        tl.store(counter, 0)


@triton.jit
def _cross_entropy(
    logits,
    target,
    out,
    batch,
    program,
    CLASSES: tl.constexpr,
    CLASS_BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    MEAN: tl.constexpr,
    IGNORED: tl.constexpr,
    SMOOTHING: tl.constexpr,
    NUMBER: tl.constexpr,
):
    """A block of rows: its part of the loss, and the gradient of its logits."""
    rows = program * ROWS + tl.arange(0, ROWS)
    classes = tl.arange(0, CLASS_BLOCK)
    is_class = (classes < CLASSES)[None, :]
    inside = (rows < batch)[:, None] & is_class
    at = rows[:, None] * CLASSES + classes[None, :]
    z = tl.load(logits + at, mask=inside, other=0.0).to(NUMBER)
    z = tl.where(is_class, z, float("-inf"))
    # Rows after the last one are ignored like those that ask for it.
    y = tl.load(target + rows, mask=rows < batch, other=IGNORED)
    counts = y != IGNORED
    tl.device_assert(((y >= 0) & (y < CLASSES)) | (y == IGNORED), "a target is not the number of a class")

    smoothing = tl.full((), SMOOTHING, NUMBER)
    z = z - tl.max(z, 1)[:, None]
    exponentials = tl.exp(z)
    total = tl.sum(exponentials, 1)
    is_own = classes[None, :] == y[:, None]
    losses = tl.log(total) - tl.sum(tl.where(is_own, z, 0.0), 1)
    slopes = exponentials / total[:, None] - tl.where(is_own, 1.0 - smoothing, 0.0)
    # Not with weight 0: a logit of minus infinity would make it 0 times infinity.
    if SMOOTHING > 0.0:
        mean = tl.sum(tl.where(is_class, z, 0.0), 1) / CLASSES
        losses = (1.0 - smoothing) * losses + smoothing * (tl.log(total) - mean)
        slopes -= smoothing / CLASSES
    value = tl.sum(tl.where(counts, losses, 0.0), 0)
    if MEAN:
        # Every program counts for itself, which is sooner done than another launch.
        COUNTED: tl.constexpr = 1024
        seen = tl.zeros((COUNTED,), tl.int32)
        for start in range(0, batch, COUNTED):
            place = start + tl.arange(0, COUNTED)
            all_y = tl.load(target + place, mask=place < batch, other=IGNORED)
            seen += (all_y != IGNORED).to(tl.int32)
        number = tl.sum(seen, 0).to(NUMBER)
        value = value / number
        slopes = slopes / number
    tl.store(out + at, tl.where(counts[:, None], slopes, 0.0), mask=inside)
    return value


@triton.jit
def _penalty(
    weight,
    out,
    strength,
    ridge,
    block,
    CLASSES: tl.constexpr,
    FEATURES: tl.constexpr,
    FEATURE_BLOCK: tl.constexpr,
    VECTORS: tl.constexpr,
    OTHERS: tl.constexpr,
    PAIRS: tl.constexpr,
    POWER: tl.constexpr,
    WHOLE: tl.constexpr,
    FRACTION: tl.constexpr,
    TINY: tl.constexpr,
    NUMBER: tl.constexpr,
):
    """A block of class vectors against all: half of the value of these pairs, and the gradient of the block."""
    features = tl.arange(0, FEATURE_BLOCK)[None, :]
    k = (block * VECTORS + tl.arange(0, VECTORS))[:, None]
    inside = (k < CLASSES) & (features < FEATURES)
    w = tl.load(weight + k * FEATURES + features, mask=inside, other=0.0).to(NUMBER)
    value = ridge * tl.sum(tl.sum(w * w, 1), 0)
    gradient = 2.0 * ridge * w
    if PAIRS:
        powers = tl.zeros((VECTORS,), NUMBER)
        pulls = tl.zeros((VECTORS, FEATURE_BLOCK), NUMBER)
        for start in range(0, CLASSES, OTHERS):
            m = (start + tl.arange(0, OTHERS))[:, None]
            there = (m < CLASSES) & (features < FEATURES)
            others = tl.load(weight + m * FEATURES + features, mask=there, other=0.0).to(NUMBER)
            pairs = inside[:, None, :] & there[None, :, :]
            differences = tl.where(pairs, w[:, None, :] - others[None, :, :], 0.0)
            squares = tl.sum(differences * differences, 2)
            slopes = _slopes(squares, WHOLE, FRACTION, TINY, NUMBER)
            powers += tl.sum(slopes * squares, 1)
            pulls += tl.sum(slopes[:, :, None] * differences, 1)
        value += strength * 0.5 * tl.sum(powers, 0)
        gradient += strength * tl.full((), POWER, NUMBER) * pulls
    tl.store(out + k * FEATURES + features, gradient, mask=inside)
    return value


@triton.jit
def _slopes(squares, WHOLE: tl.constexpr, FRACTION: tl.constexpr, TINY: tl.constexpr, NUMBER: tl.constexpr):
    """``‖wₖ − wₗ‖ᵖ⁻²``, a whole power of the square times one below 1, so that logarithms cost few digits."""
    slopes = tl.full(squares.shape, 1.0, NUMBER)
    for _ in tl.static_range(WHOLE):
        slopes = slopes * squares
    if FRACTION == 0.5:
        slopes = slopes * tl.sqrt(squares)
    elif FRACTION == -0.5:
        slopes = slopes / tl.sqrt(squares)
    elif FRACTION != 0.0:
        slopes = slopes * tl.exp2(tl.full((), FRACTION, NUMBER) * tl.log2(squares))
    # Class vectors that coincide do not pull at each other. What is below the normal numbers is 0 to the fast root.
    return tl.where(squares < TINY, 0.0, slopes)
