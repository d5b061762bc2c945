"""The arrays that statements are timed with."""

from __future__ import annotations

from typing import Any

from figures import UnavailableError

from arraybridge import HOST, convert, convert_memory


def names_for_statements(shape: tuple[int, ...]) -> dict[str, Any]:
    """What a timed statement may name: the two libraries, an array of each, and our functions.

    Raises:
        UnavailableError: NumPy or PyTorch is not installed.
    """
    try:
        import numpy as np
        import torch
    except ImportError as error:
        raise UnavailableError(str(error)) from error
    return {
        "np": np,
        "torch": torch,
        "array": np.zeros(shape, np.float32),
        "tensor": torch.zeros(shape, dtype=torch.float32),
        "convert_memory": convert_memory,
        "convert": convert,
        "HOST": HOST,
    }
