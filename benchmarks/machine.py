"""What measurements were made on: the machine, the packages and the commit."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


def machine(packages):
    """The CPU, Python, and the versions of our own packages and of others."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in (*PACKAGES, *packages)},
    }


def commit():
    """The commit of the working tree, or "" outside of git."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.split(":")[1].strip() for line in lines if "model name" in line)
    return next(names, platform.processor() or platform.machine())
