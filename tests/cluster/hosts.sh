#!/bin/bash
# SPDX-License-Identifier: MIT
# hosts.sh N RATE COMMAND…: run a command on the first of N hosts that this machine plays, which share it but for their
# names and their network: each has one link of RATE (tc's words: 1gbit; "full": as fast as it goes), both ways, to a
# switch. Programs with ADSM_BACKEND=cluster have a node on each: ADSM_CLUSTER_HOSTS and _NODES say so, and the MCA
# settings of Open MPI how they are reached. Exit status: the command's; 77 where namespaces are not allowed.
#
# A host is a namespace of network and name. All processes are in one namespace of processes, whose first one is killed
# when this script ends, however it does: so is all that is in it, and networks go with their last process.
set -euo pipefail
self=$(readlink -f "$0")
PATH=$PATH:/usr/sbin:/sbin

# As Open MPI, and MPICH by hosts_agent.sh, call ssh: HOST COMMAND…
if [ "$1" = --agent ]; then
	read -ra pids <<<"$HOSTS_PIDS"
	number=${2##*.}
	shift 2
	exec nsenter --target "${pids[number - 1]}" --net --uts -- bash -c "$*"
fi

if [ "$1" != --inside ]; then
	for tool in unshare nsenter setpriv ip tc; do
		command -v "$tool" >/dev/null || { echo "hosts.sh: no program $tool (Debian: util-linux, iproute2)"; exit 77; }
	done
	flags=(--net --uts --mount-proc --pid --fork --kill-child)
	# With a namespace of users hosts need not be made by root, who goes without: it would be no full one there.
	unshare "${flags[@]}" true 2>/dev/null || flags+=(--user --map-root-user)
	unshare "${flags[@]}" ip link add one type veth peer other 2>/dev/null ||
		{ echo "hosts.sh: namespaces of network, names and processes are not allowed here"; exit 77; }
	[ "$2" = full ] || unshare "${flags[@]}" tc qdisc add dev lo root tbf rate "$2" burst 128kb latency 100ms ||
		{ echo "hosts.sh: this system cannot shape a link to $2"; exit 77; }
	# It blocks all signals but the last one, and gets that when this script ends without a word.
	setpriv --pdeathsig KILL unshare "${flags[@]}" "$self" --inside "$@" <&0 &
	trap 'kill -KILL $!; exit 143' TERM INT HUP
	wait $!
	exit
fi

n=$2 rate=$3
shift 3

# Shape what leaves by a link: a queue of 100 ms, as a switch has it for some hosts at once.
shape() {
	[ "$rate" = full ] || "$@" tc qdisc add dev "$device" root tbf rate "$rate" burst 128kb latency 100ms
}

hostname switch
ip link add bridge type bridge
ip link set bridge up
pids=() addresses=
for ((i = 1; i <= n; i++)); do
	# It says its number once it is there.
	read -r pid < <(unshare --net --uts bash -c "hostname host$i; echo \$\$; exec sleep infinity >/dev/null")
	pids+=("$pid")
	on=(nsenter --target "$pid" --net --uts --)
	ip link add "port$i" type veth peer name eth0 netns "$pid"
	ip link set "port$i" master bridge up
	"${on[@]}" ip link set lo up
	"${on[@]}" ip address add "10.77.0.$i/24" dev eth0
	"${on[@]}" ip link set eth0 up
	device=eth0 shape "${on[@]}"
	device=port$i shape
	addresses+=${addresses:+,}10.77.0.$i
done

export HOSTS_PIDS="${pids[*]}"
export ADSM_CLUSTER_NODES=$n ADSM_CLUSTER_HOSTS=$addresses
export OMPI_MCA_plm_rsh_agent="$self --agent" OMPI_MCA_plm_rsh_no_tree_spawn=1
export PRTE_MCA_plm_ssh_agent="$self --agent" PRTE_MCA_plm_ssh_no_tree_spawn=1 PRTE_MCA_prte_if_include=eth0
export HYDRA_LAUNCHER=rsh HYDRA_LAUNCHER_EXEC="${self%.sh}_agent.sh" HYDRA_IFACE=eth0
export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 FI_PROVIDER=tcp FI_TCP_IFACE=eth0
export OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1
nsenter --target "${pids[0]}" --net --uts -- "$@"
