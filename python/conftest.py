"""What pytest looks at."""

from importlib.util import find_spec

# The losses for PyTorch cannot be imported without it; their tests say that they were left out.
collect_ignore_glob = [] if find_spec("torch") else ["m3svm/torch/*"]
