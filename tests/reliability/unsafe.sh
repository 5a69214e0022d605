#!/bin/sh
# SPDX-License-Identifier: MIT
# unsafe.sh PROGRAM CASE - run it under ADSM_WRAP=unsafe: no operation of the backend in the fault handler.
errors=$(mktemp) || exit 1
trap 'rm -f "$errors"' EXIT
ADSM_WRAP=unsafe "$@" 2>"$errors"
status=$?
cat "$errors" >&2
if grep -q 'in the fault handler' "$errors"; then
	exit 1
fi
exit $status
