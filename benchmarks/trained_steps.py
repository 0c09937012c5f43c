"""Runs steps of slimpack-train for the benchmarks beside this file, and reads what they measured."""
import csv
import os
import shutil
import subprocess

MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def measured(program, folder, ranks, options, columns):
    """The columns of each step's line in the log, the first step left out: it warms up. Ranks are processes where mpirun is."""
    launcher = ["mpirun", "-np", ranks] if shutil.which("mpirun") else []
    log = folder / "log.csv"
    command = [*launcher, program, "--effort", "fast", "--log", log, *options]
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **MPI})
    with open(log) as file:
        return [tuple(float(row[column]) for column in columns) for row in list(csv.DictReader(file))[1:]]
