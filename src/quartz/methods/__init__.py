"""The methods that the paper compares Quartz with [tbl:finalconclusion], for `solve(method=...)`.

Each follows its own source, on the same problems and with the same certificate.
"""

from quartz.methods.accprox_sdca import AccProxSDCA
from quartz.methods.apcg import APCG
from quartz.methods.asdca import ASDCA
from quartz.methods.disdca import DisDCA
from quartz.methods.minibatch_sdca import MiniBatchSDCA
from quartz.methods.saga import SAGA
from quartz.methods.sdca import IproxSDCA, ProxSDCA
from quartz.methods.spdc import SPDC

__all__ = [
    "APCG",
    "ASDCA",
    "SAGA",
    "SPDC",
    "AccProxSDCA",
    "DisDCA",
    "IproxSDCA",
    "MiniBatchSDCA",
    "ProxSDCA",
]
