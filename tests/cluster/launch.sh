#!/bin/bash
# SPDX-License-Identifier: MIT
# launch.sh N PROGRAM ARGUMENT...: plays mpirun, without MPI: as many processes, which all end with the first that does.
n=$1
shift
pids=
for ((i = 0; i < n; i++)); do
	TEST_RANK=$i "$@" &
	pids="$pids $!"
done
trap 'kill -9 $pids 2>/dev/null; exit 143' TERM
wait -n
status=$?
kill -9 $pids 2>/dev/null
echo "launch.sh: a node has ended with status $status" >&2
exit "$status"
