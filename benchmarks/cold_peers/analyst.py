"""agentfn: the analyst of functions/, as it is deployed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "functions" / "analyst"))

from app import handler

__all__ = ["handler"]
