"""Run experiments on the nodes of a SLURM cluster: a job for each group of workers, a scheduler on this machine.

    mlcdr example slurm
    python slurm.py --jobs 20 --partition short chen_lin_2012/table3

Needs `pip install 'mlcdr[dask]' dask-jobqueue`, here and (by a shared file system) on the nodes. Start it where a
process may live for long, in `tmux` or in a job of its own. When it is stopped, the jobs end; run it again to continue.
`--show` prints the job's script and asks for nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from dask_jobqueue import SLURMCluster


def main() -> int:
    """The exit code of the run."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("configs", nargs="+")
    options.add_argument("--jobs", type=int, default=4, help="SLURM jobs to ask for")
    options.add_argument("--cores", type=int, default=8, help="cores, and so workers, of a job")
    options.add_argument("--memory", default="32GB", help="memory of a job")
    options.add_argument("--time", default="04:00:00", help="how long a job may take")
    options.add_argument("--partition", default=None)
    options.add_argument("--interface", default=None, help="network interface, such as ib0")
    options.add_argument("--show", action="store_true")
    asked = options.parse_args()
    cluster = SLURMCluster(
        queue=asked.partition,
        cores=asked.cores,
        processes=asked.cores,  # one thread each: that is what a trial is computed with
        memory=asked.memory,
        walltime=asked.time,
        interface=asked.interface,
    )
    if asked.show:
        print(cluster.job_script())
        return 0
    with cluster:
        cluster.scale(jobs=asked.jobs)
        run = ["-m", "mlcdr", "run", *asked.configs, "--backend", "dask", "--scheduler", cluster.scheduler_address]
        return subprocess.run([sys.executable, *run], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
