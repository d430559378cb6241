"""All experiments by name."""

from quartz.experiments.base import Experiment
from quartz.experiments.batch import Batch
from quartz.experiments.beyond import Beyond
from quartz.experiments.contours import Contours
from quartz.experiments.distributed import Distributed
from quartz.experiments.importance import Importance
from quartz.experiments.speedup import Speedup

_LIST: list[Experiment] = [Speedup(), Contours(), Importance(), Batch(), Distributed(), Beyond()]
EXPERIMENTS = {experiment.name: experiment for experiment in _LIST}
