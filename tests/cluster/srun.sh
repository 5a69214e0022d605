#!/bin/bash
# SPDX-License-Identifier: MIT
# srun.sh: plays Slurm's srun: its version, and a job by launch.sh, where its command line is as srun would have it.
[ "$1" = --version ] && { echo "slurm 22.05.8"; exit; }
n=
while [[ $1 == -* ]]; do
	case $1 in
	--mpi=none | --kill-on-bad-exit=1 | --overlap | --cpu-bind=none) ;;
	-n) n=$2; shift ;;
	-w) [ "$2" = 127.0.0.1,localhost ] || { echo "srun: error: no host $2" >&2; exit 1; }; shift ;;
	*) echo "srun: unrecognized option '$1'" >&2; exit 1 ;;
	esac
	shift
done
exec "$(dirname "$0")/launch.sh" "$n" "$@"
