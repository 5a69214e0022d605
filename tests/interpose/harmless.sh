#!/bin/sh
# SPDX-License-Identifier: MIT
# harmless.sh LIBRARY PROGRAM - a program nobody here wrote does with the library preloaded what it does without.
set -u
[ -z "${TEST_SKIP-}" ] || { echo "skipped: $TEST_SKIP"; exit 77; }

# What is done with each, in an empty folder. It prints what is compared, so nothing of chance: no times, no ids.
numbers() {
	seq 100000 >numbers
	head -c 3000001 /dev/zero >zeros
}

do_tar() {
	mkdir -p tree/deep/er out
	(cd tree && numbers && ln -s numbers link && ln numbers deep/hard && : >deep/er/empty)
	tar --sort=name --mtime=@0 --owner=0 --group=0 -cf tree.tar tree
	cksum tree.tar
	tar -tf tree.tar
	tar -C out -xf tree.tar && diff -r tree out/tree && echo same
	tar -cf - tree | tar -C out -xf - && diff -r tree out/tree && echo same
	tar --sort=name --mtime=@0 --owner=0 --group=0 -czf tree.tgz tree && gzip -dc tree.tgz | cmp - tree.tar
	tar -xf /dev/zero/none
}

do_gzip() {
	numbers
	for level in 1 6 9; do
		gzip -n "-$level" <numbers | tee "numbers.$level.gz" | gzip -dc | cmp - numbers
	done
	gzip -n zeros
	gzip -t zeros.gz && cksum ./*.gz
	head -c 100 zeros.gz | gzip -dc | cksum
	gzip none
}

do_sqlite3() {
	sqlite3 base 'PRAGMA page_size = 4096; CREATE TABLE t(i INTEGER PRIMARY KEY, square INTEGER, text TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
			INSERT INTO t SELECT i, i * i, printf("%0100d", i) FROM n;
		CREATE INDEX by_text ON t(text);'
	sqlite3 base 'SELECT count(*), sum(square), max(text) FROM t; PRAGMA integrity_check;
		BEGIN; DELETE FROM t WHERE i % 3; ROLLBACK; SELECT count(*) FROM t;
		DELETE FROM t WHERE i % 2; VACUUM; SELECT count(*), sum(i) FROM t; PRAGMA integrity_check;'
	sqlite3 base 'PRAGMA journal_mode = WAL; PRAGMA mmap_size = 100000000; UPDATE t SET square = -square;
		SELECT sum(square) FROM t WHERE text > printf("%0100d", 5000); PRAGMA wal_checkpoint;'
	sqlite3 base .dump | cksum
	sqlite3 base 'SELECT none FROM t'
}

do_git() {
	# shellcheck disable=SC2046
	unset $(git rev-parse --local-env-vars)
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
	export GIT_AUTHOR_DATE='@1000000000 +0000' GIT_COMMITTER_DATE='@1000000000 +0000'
	git -c init.defaultBranch=main init repository
	cd repository || return
	git config user.name Nobody
	git config user.email nobody@localhost
	numbers
	git status
	git add . && git commit -m 'The first' && git log --stat
	seq 5 100005 >numbers
	git status --short
	git diff | cksum
	git commit -am 'The second'
	git gc --quiet && git fsck --strict
	git clone --quiet --no-local . ../copy && git -C ../copy log --format='%H %s' && diff numbers ../copy/numbers
	git checkout none
}

do_find() {
	mkdir -p a/b/c d
	for i in $(seq 200); do
		echo "$i" >"a/b/c/$i"
		echo "$i" >"d/$i x"
	done
	find . -type f -print0 | sort -z | xargs -0 -n 7 cksum
	find . -name '*7*' -newermt @1 -exec cat {} + | sort
	find . -type f -print0 | xargs -0 -n 50 -P 4 cat | sort
	seq 3 | xargs -I{} sh -c 'exit {}'
	find d -delete
	find none
}

do_bash() {
	bash <<'BASH'
	set -o pipefail
	trap 'echo usr1' USR1
	kill -USR1 $$
	(trap 'echo inside; exit 7' TERM; kill -TERM $BASHPID; echo never)
	echo "subshell $?"
	seq 20000 | sort -rn | head -n 3
	true | (exit 4) | cat | false
	echo "pipe ${PIPESTATUS[*]}"
	yes | head -n 1
	echo "pipe ${PIPESTATUS[*]}"
	sleep 100 &
	kill $!
	wait $! 2>/dev/null
	echo "killed $?"
	{ bash -c 'kill -SEGV $$'; } 2>/dev/null
	echo "segv $?"
	for i in 1 2 3; do (exit $i) & pids+=($!); done
	for pid in "${pids[@]}"; do wait "$pid"; echo "wait $?"; done
	coproc cat
	echo through a coprocess >&"${COPROC[1]}"
	read -r line <&"${COPROC[0]}" && echo "$line"
	eval "exec ${COPROC[1]}>&-"
	wait
	diff <(seq 1000) <(seq 1001)
	cat <<-TEXT
	here: $(echo $((6 * 7)))
	TEXT
	mapfile -t lines < <(seq 5000)
	echo "${#lines[@]} ${lines[4999]}"
	read -t 0.01 -r < <(sleep 1)
	echo "too late $?"
	trap 'echo the end' EXIT
	exec 3<>both && echo text >&3 && cat both
	exit 5
BASH
}

do_perl() {
	perl - <<'PERL'
	use strict; use warnings;
	use POSIX; use Socket; use Time::HiRes; use Digest::MD5;
	$| = 1;
	my $data = join "", map { pack "N", $_ * 2654435761 & 0xffffffff } 1 .. 100000;
	open my $file, "+>", "file" or die; binmode $file;
	print syswrite($file, $data), " ", sysseek($file, 7, 0), " ", sysread($file, my $piece, 100001), "\n";
	print Digest::MD5::md5_hex($piece), " ", -s "file", "\n";
	socketpair my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die;
	my $pid = fork;
	if (!$pid) { print $a $data; $a->flush; POSIX::_exit(3); }
	close $a;
	my $got = do { local $/; <$b> };
	waitpid $pid, 0;
	print $got eq $data ? "same" : "different", " ", $? >> 8, "\n";
	my $hits = 0;
	$SIG{USR1} = sub { $hits++ };
	POSIX::sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR1, SIGSEGV), my $old = POSIX::SigSet->new);
	kill USR1 => $$;
	my $now = POSIX::SigSet->new;
	POSIX::sigprocmask(SIG_BLOCK, POSIX::SigSet->new, $now);
	print "$hits ", join(" ", grep { $now->ismember($_) } 1 .. 64), "\n";
	POSIX::sigprocmask(SIG_SETMASK, $old);
	print "$hits\n";
	eval { local $SIG{ALRM} = sub { die "alarm\n" }; Time::HiRes::ualarm(1000); select undef, undef, undef, 100 };
	print $@;
	print scalar(`seq 1000 | sort -r | md5sum`), system("sh", "-c", "exit 9") >> 8, "\n";
	opendir my $folder, "." or die; print join(" ", sort readdir $folder), "\n";
	$SIG{SEGV} = "DEFAULT"; kill SEGV => $$; sleep 100;
PERL
}

do_python3() {
	PYTHONDONTWRITEBYTECODE=1 python3 - <<'PYTHON'
import asyncio, ctypes, faulthandler, hashlib, mmap, multiprocessing, os, select, signal, socket, subprocess, sys
import threading

data = bytes(i * i >> 3 & 255 for i in range(1 << 20))

def own(work):
    """In a child: how does it end?"""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]

def crash():
    ctypes.string_at(0)

with open("file", "w+b", buffering=0) as file:
    buffers = [bytearray(5), bytearray(100000), bytearray(1 << 20)]
    print(file.write(data), os.preadv(file.fileno(), buffers, 3), b"".join(buffers)[:len(data) - 3] == data[3:])
    print(os.pwritev(file.fileno(), [b"abc", data], 9), file.seek(0), file.readinto(buffers[2]))
    with mmap.mmap(file.fileno(), 0) as mapping:
        print(hashlib.sha256(mapping).hexdigest())
print(sum(len(line) for line in open("file", "rb")), os.stat("file").st_size, sorted(os.listdir(".")))

a, b = socket.socketpair()
sender = threading.Thread(target=lambda: (a.sendall(data), a.close()))
sender.start()
print(b"".join(iter(lambda: b.recv(70001), b"")) == data)
sender.join()
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
print(a.sendmsg([b"one", b"two"]), b.recvmsg_into([bytearray(2), bytearray(3)])[0], select.select([b], [], [], 0)[0])
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
    peer = server.accept()[0]
    with open("file", "rb") as file:
        threading.Thread(target=lambda: (client.sendfile(file), client.shutdown(socket.SHUT_WR))).start()
        print(len(b"".join(iter(lambda: peer.recv(1 << 16), b""))))

counter, lock = [0], threading.Lock()
def count():
    for _ in range(1000):
        with lock:
            counter[0] += 1
threads = [threading.Thread(target=count) for _ in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(counter)

async def both():
    process = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = await process.communicate(data)
    return out == data, process.returncode
print(asyncio.run(both()))
print(subprocess.run("cksum", input=data, capture_output=True).stdout,
      subprocess.run("echo out; echo err >&2; exit 3", shell=True, capture_output=True))
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(sum(pool.map(abs, range(-1000, 0))), hashlib.sha256(b"".join(pool.map(bytes, [[7] * 100000] * 20))).hexdigest())

hits = []
print(signal.signal(signal.SIGUSR1, lambda number, frame: hits.append(number)), signal.getsignal(signal.SIGSEGV))
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGSEGV, signal.SIGBUS})))
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGSEGV)
print(hits, sorted(signal.sigpending()), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
print(signal.sigwait({signal.SIGSEGV}), signal.sigtimedwait({signal.SIGBUS}, 0))
print(sorted(signal.pthread_sigmask(signal.SIG_SETMASK, ())), hits)
print(signal.signal(signal.SIGSEGV, lambda number, frame: hits.append(number)))
os.kill(os.getpid(), signal.SIGSEGV)
print(hits, signal.signal(signal.SIGSEGV, signal.SIG_IGN) is not None)
os.kill(os.getpid(), signal.SIGSEGV)
print(signal.signal(signal.SIGSEGV, signal.SIG_DFL), own(crash), own(lambda: os.kill(os.getpid(), signal.SIGSEGV)))
signal.signal(signal.SIGALRM, lambda number, frame: hits.append(number))
signal.setitimer(signal.ITIMER_REAL, 0.01)
print(select.select([a], [], [], 0.1)[0], hits)
with open("trace", "w+") as trace:
    faulthandler.enable(trace)
    print(own(crash))
    faulthandler.disable()
    trace.seek(0)
    text = trace.read()
    print("Segmentation fault" in text, "in crash" in text)
sys.exit(42)
PYTHON
}

library=$1 program=$2
command -v "$program" >/dev/null || { echo "skipped: there is no $program"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export LC_ALL=C
# shellcheck disable=SC3045
ulimit -c 0

# run NAME: in the same place each time, as its path may be in the output.
run() {
	mkdir "$folder/work"
	(
		cd "$folder/work" || exit
		[ "$1" = alone ] || export LD_PRELOAD="$library"
		"do_$program"
		echo "status $?"
	) >"$folder/$1" 2>"$folder/$1.errors"
	rm -rf "$folder/work"
}

LD_PRELOAD=$library grep -q "${library##*/}" /proc/self/maps || { echo "$library is not preloaded"; exit 1; }
run alone
run preloaded
! grep '^adsm' "$folder/preloaded.errors" || exit 1
diff "$folder/alone.errors" "$folder/preloaded.errors" && diff "$folder/alone" "$folder/preloaded"
