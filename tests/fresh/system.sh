# SPDX-License-Identifier: MIT
# For the scripts beside it: bare systems of Debian, made with debootstrap in $folder. The caller sets $top, $folder,
# $mirror and $keep. Needs root, debootstrap and Debian's packages, from where this machine's apt has them.

cannot() {
	echo "$0: $*" >&2
	exit 77
}

repository() {
	git -C "$top" -c safe.directory="$top" "$@"
}

# alone ARGUMENT...: runs the script again with these arguments, so that neither mounts nor processes are left behind.
alone() {
	local name program
	if [ -z "${inside-}" ]; then
		[ "$(id -u)" = 0 ] || cannot "only root can make a system to test in"
		for program in apt-get debootstrap git tar unshare; do
			command -v $program >/dev/null || cannot "$program is not there (Debian's ${program/unshare/util-linux})"
		done
		unshare --mount --pid --fork true 2>/dev/null || cannot "there may be no mounts here of their own (unshare)"
		# What it keeps of this machine (bare) is for root only.
		(umask 077 && mkdir -p "$folder")
		exec unshare --mount --pid --fork --kill-child "$0" --inside "$@"
	fi
	folder=$(readlink -f "$folder")
	commit=$(repository rev-parse HEAD)
	exec 9>"$folder/lock"
	flock -n 9 || cannot "another run is at work in $folder; name one with --folder"

	# As this machine's apt knows them: "URI RELEASE" of each source of Debian's own.
	own=$(. /etc/os-release && echo "${VERSION_CODENAME-none}")
	sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Identifier: Packages' 'Component: main' |
		awk -v own="$own" '$2 == own || index($2, own "-") == 1' | sort -u)
	[ -n "$mirror" ] || mirror=$(awk -v own="$own" '$2 == own { print $1; exit }' <<<"$sources")
	# What leads to it, where the environment says so.
	network=()
	for name in http_proxy https_proxy no_proxy; do
		[ -z "${!name-}" ] || network+=("$name=${!name}")
	done
	[ -n "$mirror" ] || cannot "this machine's apt does not know where Debian is; name it with --mirror"
}

# bare RELEASE: a tar file of its smallest system, made once.
bare() {
	local release=$1 root=$folder/$1 proxy
	[ ! -e "$folder/$release.tar" ] || return 0
	proxy=$(apt-config shell proxy Acquire::http::Proxy | sed "s/^proxy='\(.*\)'$/\1/")
	${proxy:+env http_proxy="$proxy"} debootstrap --variant=minbase --cache-dir="$folder/packages-$release" \
		"$release" "$root" "$mirror" || return
	{
		echo "deb $mirror $release main"
		awk -v own="$own" -v release="$release" 'index($2, own "-") == 1 {
			print "deb", $1, release substr($2, length(own) + 1), "main" }' <<<"$sources"
	} >"$root/etc/apt/sources.list"
	# How this machine reaches it: proxies, certificates, passwords, but none of its hooks.
	(umask 077 && apt-config dump --format '%F "%v";%n' Acquire >"$root/etc/apt/apt.conf.d/00machine")
	cp -a /etc/apt/auth.conf* "$root/etc/apt/" 2>/dev/null || true
	mkdir -p "$root/etc/ssl/certs"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
	(umask 077 && tar -C "$root" -cf "$folder/$release.tar.part" .) &&
		mv "$folder/$release.tar.part" "$folder/$release.tar"
}

# unpack RELEASE: the system.
unpack() {
	local root=$folder/$1 name
	rm -rf --one-file-system "$root"
	mkdir -p "$folder/packages-$1/partial"
	bare "$1" || return
	rm -rf --one-file-system "$root"
	mkdir "$root"
	tar -C "$root" -xf "$folder/$1.tar" || return
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/" || return
	mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount -t tmpfs -o mode=755 dev "$root/dev" || return
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t tmpfs -o mode=1777 shm "$root/dev/shm" || return
	mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$root/dev/pts" || return
	for name in null zero full random urandom tty; do
		: >"$root/dev/$name"
		mount --bind "/dev/$name" "$root/dev/$name" || return
	done
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	for name in 0:stdin 1:stdout 2:stderr; do
		ln -s "fd/${name%:*}" "$root/dev/${name#*:}"
	done
	mount --bind "$folder/packages-$1" "$root/var/cache/apt/archives"
}

# copy_tree RELEASE NAME [PATH...]: this tree, or files of it, as /root/NAME in the system.
copy_tree() {
	local root=$folder/$1/root/$2
	mkdir -p "$root"
	repository archive "$commit" "${@:3}" | tar -C "$root" -x
}

remove() {
	local name
	for name in var/cache/apt/archives dev proc sys; do
		umount -R -l "$folder/$1/$name" 2>/dev/null || true
	done
	[ -n "$keep" ] || rm -rf --one-file-system "${folder:?}/$1"
}

# in_system RELEASE: runs the commands of standard input there.
in_system() {
	chroot "$folder/$1" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 ${network[@]+"${network[@]}"} \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		sh -c 'cat >/tmp/step && exec bash -exo pipefail /tmp/step </dev/null'
}

# What is on the disk, but for what is nobody's business.
files='find / -xdev \( -path /root -o -path /tmp -o -path /run -o -path /var/cache -o -path /var/log -o -path /var/lib \) -prune -o -print | sort'
