#!/bin/sh
# SPDX-License-Identifier: MIT
# hook_runtime.sh CUDART NVCC SOURCE LIBRARY TRACE DRIVER - a program that nvcc made, with the toolkit's own runtime
# library (static, shared), binds to the wrappers. That library then finds that the double is no driver of its maker's,
# and the program ends with an error of CUDA's: the same with the library preloaded and without it.
set -u
[ -z "${TEST_SKIP-}" ] || { echo "skipped: $TEST_SKIP"; exit 77; }
cudart=$1 nvcc=$2 source=$3 library=$4 trace=$5 driver=$6
[ -n "$nvcc" ] || { echo "skipped: there is no nvcc"; exit 77; }

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
ln -s "$driver" "$folder/libcuda.so.1"
"$nvcc" -O2 -cudart "$cudart" -o "$folder/program" "$source" || { echo "skipped: nvcc does not work"; exit 77; }
toolkit=$(dirname "$(readlink -f "$nvcc")")/../lib

# run NAME PRELOADED: the program, with the driver's double.
run() {
	LD_LIBRARY_PATH="$folder:$toolkit:${toolkit}64" LD_PRELOAD=$2 TEST_LIBRARY=$library TRACE_OUT=$folder/trace \
		"$folder/program" >"$folder/$1" 2>"$folder/$1.errors"
	echo "status $?" >>"$folder/$1"
}

run alone ""
run traced "$trace $library"
run preloaded "$library"
cat "$folder/alone" "$folder/trace"
diff "$folder/alone" "$folder/preloaded" && diff "$folder/alone" "$folder/traced" &&
	diff "$folder/alone.errors" "$folder/preloaded.errors" || exit 1
grep -q '^[1-9][0-9]* cuda' "$folder/alone" && grep -q '^status 3$' "$folder/alone" || exit 1
awk '$1 == "asked" { found = $2 >= 400 && $4 >= 60 && $6 >= 20 && $8 == 0 } END { exit !found }' "$folder/trace"
