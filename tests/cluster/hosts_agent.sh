#!/bin/sh
# SPDX-License-Identifier: MIT
# hosts_agent.sh HOST COMMAND…: for a launch command that takes a program, with no words behind it, in place of rsh.
exec "$(dirname "$0")/hosts.sh" --agent "$@"
