"""What a run promises to give again byte for byte, as hashes."""

import hashlib
from pathlib import Path


def hashes(root: Path, *patterns: str) -> dict[str, str]:
    """SHA-256 of every file under `root` that matches, by relative path."""
    files = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def science(root: Path) -> dict[str, str]:
    """Everything that a run promises to give again byte for byte."""
    found = hashes(root, "study.toml", "seed-*/**/*", "results/*", "figures/*", "report.html")
    assert any(name.endswith("weights.safetensors") for name in found)
    assert "report.html" in found
    return found
