"""Converting an array from one library to another, and telling which library made one."""

from __future__ import annotations

from arraybridge._arraybridge import convert, convert_memory, detect_memory_type
from arraybridge.explanation import Explanation, explain

__all__ = ["Explanation", "convert", "convert_memory", "detect_memory_type", "explain"]
