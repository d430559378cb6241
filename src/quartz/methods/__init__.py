"""The methods that the paper compares Quartz with [tbl:finalconclusion], for `solve(method=...)`.

Each follows its own source, on the same problems and with the same certificate.
"""

from quartz.methods.apcg import APCG
from quartz.methods.asdca import ASDCA
from quartz.methods.sdca import IproxSDCA, ProxSDCA
from quartz.methods.spdc import SPDC

__all__ = ["APCG", "ASDCA", "SPDC", "IproxSDCA", "ProxSDCA"]
