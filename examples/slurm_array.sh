#!/bin/bash
# Run an experiment as a SLURM job array: each job computes one part, and all write into one results folder.
#
#     mlcdr example slurm_array
#     sbatch slurm_array.sh chen_lin_2012/table3
#     mlcdr status results/chen_lin_2012_table3
#
# The last job writes the tables. Parts that were killed are run again by their numbers, with the same PARTS:
#
#     sbatch --array=3,7 slurm_array.sh chen_lin_2012/table3
#
# The jobs share the current folder, and nothing else. PARTS must be the last number of --array.

#SBATCH --job-name=mlcdr
#SBATCH --array=1-10
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=04:00:00

PARTS=10

exec mlcdr run "$@" --part "$SLURM_ARRAY_TASK_ID/$PARTS" --jobs "${SLURM_CPUS_PER_TASK:-1}"
