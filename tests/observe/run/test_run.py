# SPDX-License-Identifier: MIT
"""The launcher: test_run.py MESON BUILD_FOLDER ADSMRUN SHARES PUPPET KERNELS COMPILER CASE..."""
import ctypes
import fcntl
import glob
import json
import os
import pty
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import termios
import time

MESON, COMPILER = sys.argv[1], sys.argv[7]
BUILD, RUN, SHARES, PUPPET, KERNELS = map(os.path.abspath, sys.argv[2:7])
CASES = {}
SIGNALS = {"HUP": signal.SIGHUP, "INT": signal.SIGINT, "QUIT": signal.SIGQUIT, "TERM": signal.SIGTERM,
           "USR1": signal.SIGUSR1, "USR2": signal.SIGUSR2, "WINCH": signal.SIGWINCH, "ALRM": signal.SIGALRM}
for number in SIGNALS.values():     # nohup(1) leaves one ignored
    signal.signal(number, signal.SIG_DFL)


def case(function):
    CASES[function.__name__] = function
    return function


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(*args, **keywords):
    """Status, output and errors of a command."""
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **keywords)
    return done.returncode, done.stdout, done.stderr.decode()


def same(got, want):
    assert got == want, f"got {got!r}, not {want!r}"


def says(text, *words):
    for word in words:
        assert word in text, f"{text!r} does not say {word!r}"


def report(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def trace_end(path, many=3):
    """Of a file that parses, whose last event says how it ended."""
    events = report(path)
    same(events[-1]["name"], "trace_end")
    assert not [event for event in events[:-1] if event.get("name") == "trace_end"]
    assert len(events) > many
    return events[-1]["args"]


# ---- how it starts and ends

@case
def statuses():
    for options in [], ["--stats"], ["--trace", "t"]:
        for status in 0, 3, 255:
            same(run(RUN, *options, "sh", "-c", f"exit {status}")[0], status)
        same(run(RUN, *options, "./none")[0], 127)
        same(run(RUN, *options, "no-such-program")[0], 127)
        same(run(RUN, *options, "/")[0], 126)
        with open("data", "w", encoding="ascii") as file:
            file.write("no program")
        same(run(RUN, *options, "./data")[0], 126)
        os.chmod("data", 0o755)
        status, _, errors = run(RUN, *options, "./data")
        same(status, 126)
        says(errors, "adsmrun: cannot run ./data: Exec format error")
        # An error that only the kernel finds.
        shutil.copy("/bin/true", "busy")
        with open("busy", "ab"):
            status, _, errors = run(RUN, *options, "./busy")
        same(status, 126)
        says(errors, "adsmrun: cannot run ./busy: Text file busy")
        os.unlink("busy")
    # Nothing is left, where nothing was started.
    same(sorted(os.listdir(".")), ["data"])


@case
def scripts():
    with open("script", "w", encoding="ascii") as file:
        file.write('#! /bin/sh -e\necho "$0" "$@"; exit 4\n')
    os.chmod("script", 0o755)
    with open("outer", "w", encoding="ascii") as file:
        file.write("#!./script")
    os.chmod("outer", 0o755)
    for options in [], ["--stats"]:
        same(run(RUN, *options, "./script", "a b")[:2], (4, b"./script a b\n"))
        same(run(RUN, *options, "--", "./outer")[:2], (4, b"./script ./outer\n"))
        path = dict(os.environ, PATH=":" + os.environ["PATH"])
        same(run(RUN, *options, "script", env=path)[:2], (4, b"script\n"))
    with open("script", "w", encoding="ascii") as file:
        file.write("#!/no/interpreter\n")
    status, _, errors = run(RUN, "./script")
    same((status, errors), (127, "adsmrun: cannot run /no/interpreter: No such file or directory\n"))


@case
def killed():
    """By any signal: so is the launcher."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for options in [], ["--stats"]:
        for number in [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE,
                       signal.SIGHUP, signal.SIGUSR1, signal.SIGRTMIN + 3]:
            status, _, errors = run(RUN, *options, "sh", "-c", f"kill -{int(number)} $$")
            same(status, -number)
            same(errors, "adsmrun: sh used no shared memory\n" if options else "")


# ---- options

def refused(*args, **keywords):
    status, _, errors = run(RUN, *args, "touch", "marker", **keywords)
    same(status, 2)
    assert not os.path.exists("marker"), "it was started"
    assert errors.startswith("adsmrun: ") and errors.count("\n") == 1, errors
    return errors


@case
def options_refused():
    says(refused("--protocol", "lazzy"), "ADSM_PROTOCOL=lazzy is not valid", "did you mean lazy?")
    says(refused("--protocl=lazy"), "protocl is not an option", "did you mean PROTOCOL?")
    says(refused("--block-size=5K"), "a power of two from 4K to 1G")
    says(refused("--cpu-link", "3"), "3GB/s,10us")
    says(refused("--stats", "--advise=2"), "ADSM_ADVISE=2 is not valid")
    says(refused("-x"), "unknown option -x")
    says(refused("--paper", "1", "--fault-ahead=64K"), "contradict")
    says(refused("--trace", "."), "is not a regular file")
    says(refused("--trace", "/dev/null"), "is not a regular file")
    # A descriptor that is closed. The path of the link begins like that of /dev/stdout.
    os.symlink("/proc/self/fd/99", "closed")
    says(refused("--stats=json:/proc/self/cwd/closed"), "cannot write to /proc/self/cwd/closed")
    assert os.path.islink("closed")
    os.unlink("closed")
    says(refused("--trace", "none/t"), "cannot write to none/t")
    says(refused("--stats=json:none/r"), "cannot write to none/r")
    says(refused("--trace=x", "--stats=json:x"), "--stats and --trace name the same file")
    says(refused("--trace=x", "--files=new"), "--files")
    same(os.listdir("."), [])
    status, _, errors = run(RUN, "--stats")
    same(status, 2)
    says(errors, "the program is missing")
    same(run(RUN, "--protocol")[0], 2)


def obey_permissions():
    """As root: drop what overrides the permissions of files (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER)."""
    for capability in 1, 2, 3:
        ctypes.CDLL(None).prctl(24, capability)     # PR_CAPBSET_DROP


@case
def files_stay():
    """Old files and the program stay if adsmrun refuses to run."""
    for name in "old", "older":
        with open(name, "w", encoding="ascii") as file:
            file.write("precious")
    with open("script", "w", encoding="ascii") as file:
        file.write("#!./sh\n")
    shutil.copy("/bin/sh", "sh")
    os.chmod("script", 0o755)
    os.symlink("sh", "link")
    for options, word in [(["--html=old", "--trace=none/t"], "cannot write to none/t"),
                          (["--stats=json:old", "--record=/dev/null"], "not a regular file"),
                          (["--trace=old", "--record=old"], "name the same file"),
                          (["--html=old", "--trace=older", "--record=older"], "name the same file")]:
        says(refused(*options), word)
    for option in "--html=", "--trace=", "--record=", "--stats=json:":
        for program, output in [("./sh", "sh"), ("./sh", "./sh"), ("./link", "link"), ("./sh", "link"),
                                ("./script", "script"), ("./script", "sh")]:
            other = "--record=old" if option == "--trace=" else "--trace=old"
            status, _, errors = run(RUN, other, option + output, program, "-c", "touch marker")
            same(status, 2)
            says(errors, "names the program")
    # What shows only when the files are changed: a folder that cannot be read, another user's file in a common one.
    os.mkdir("closed", 0o300)
    status, _, errors = run(RUN, "--stats=json:old", "--trace=closed/t", "touch", "marker", preexec_fn=obey_permissions)
    same(status, 125)
    says(errors, "cannot read ")
    os.rmdir("closed")
    if not os.getuid():
        os.mkdir("common")
        with open("common/t", "w", encoding="ascii"):
            for path in "common", "common/t":
                os.chown(path, 65534, 65534)
        os.chmod("common", 0o1777)
        says(refused("--stats=json:old", "--trace=common/t", "--html=older", preexec_fn=obey_permissions),
             "--trace: cannot write to ", "common/t: Operation not permitted")
        same(os.listdir("common"), ["t"])
        shutil.rmtree("common")
    for name in "old", "older":
        with open(name, encoding="ascii") as file:
            same(file.read(), "precious")
    same(sorted(os.listdir(".")), ["link", "old", "older", "script", "sh"])


@case
def environment_refused():
    for name, value, words in [("PROTOCOL", "lazzy", "did you mean lazy?"), ("LOG", "loud", "silent, error"),
                               ("BLOCK_SIZE", "1", "a power of two")]:
        os.environ["ADSM_" + name] = value
        says(refused(), f"ADSM_{name}={value} is not valid", words)
        # What is said on the command line counts.
        same(run(RUN, "--" + name.lower().replace("_", "-"), {"LOG": "warn", "PROTOCOL": "lazy"}.get(name, "4K"),
                 "true")[0], 0)
        del os.environ["ADSM_" + name]


@case
def options_set():
    status, out, _ = run(RUN, "--protocol", "lazy", "--block-size=4K", "--rolling-size", "8", "--cpu-link=3GB/s",
                         "--cpu_threads=2", "--protocol=batch", "--", "env")
    same(status, 0)
    got = dict(line.split("=", 1) for line in out.decode().splitlines() if line.startswith("ADSM_"))
    got.pop("ADSM_BACKEND", None)
    same(got, {"ADSM_PROTOCOL": "batch", "ADSM_BLOCK_SIZE": "4K", "ADSM_ROLLING_SIZE": "8", "ADSM_CPU_LINK": "3GB/s",
               "ADSM_CPU_THREADS": "2"})
    # Arguments of the program's are its own.
    same(run(RUN, "echo", "--protocol", "--", "-x")[1], b"--protocol -- -x\n")


@case
def shows():
    status, out, _ = run(RUN, "--help")
    same(status, 0)
    says(out.decode(), "usage: adsmrun", "--trace FILE", "ADSM_ROLLING_SIZE")
    status, out, _ = run(RUN, "--version")
    same(status, 0)
    assert re.fullmatch(rb"adsmrun \(libadsm\) \d+\.\d+\.\d+\n", out), out
    status, out, _ = run(RUN, "--backend=cpu", "--protocol=lazy", "--list")
    same(status, 0)
    says(out.decode(), "device 0:", "backend              cpu")
    assert re.search(r"ADSM_PROTOCOL +rolling +lazy ", out.decode()), out
    info = os.path.join(os.path.dirname(RUN), "adsm-info")
    for path, word in [(".", "Is a directory"), ("/dev/null", "Invalid argument"), ("none", "No such file")]:
        same(run(info, path), (1, b"", f"adsm-info: {path}: {word}" + " or directory" * (path == "none") + "\n"))
    for options in [], ["--options-all"]:
        status, out, _ = run(info, *options, env=dict(os.environ, ADSM_BLOCK_SIZE="7"))
        same(status, 1)
        says(out.decode(), "ADSM_BLOCK_SIZE=7 is not valid; valid: ", "ADSM_PROTOCOL")
    for options in [], ["--options-all"], ["--options-markdown"], ["--help"], [KERNELS]:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([info, *options], stdout=full, stderr=subprocess.PIPE, check=False)
        same(done.returncode, 1)
        says(done.stderr.decode(), "cannot write to the standard output: No space left on device")
    out = run(RUN, "--protocol=lazy", "--help", env=dict(os.environ, ADSM_TOUCH="error"))[1].decode()
    assert re.search(r"ADSM_PROTOCOL +rolling +lazy ", out) and re.search(r"ADSM_TOUCH +wait +error ", out), out


# ---- the library is preloaded

def mapped(out):
    """The libraries called libadsm in a program's own list of what is mapped."""
    return {line.split(None, 5)[5] for line in out.decode().splitlines() if "libadsm.so" in line}


@case
def preloads():
    library = os.path.join(BUILD, "lib")
    status, out, _ = run(RUN, "cat", "/proc/self/maps")
    same((status, {os.path.dirname(path) for path in mapped(out)}), (0, {os.path.realpath(library)}))
    ours = os.path.join(os.path.realpath(library), "libadsm.so.0")
    preload = ["sh", "-c", "echo $LD_PRELOAD"]
    same(run(RUN, *preload)[1].decode(), ours + "\n")
    # What is there stays, and the library comes once.
    libm = next(line.split()[2] for line in run("ldd", sys.executable)[1].decode().splitlines() if "libc.so" in line)
    for before, after in [(libm, f"{ours}:{libm}"), (f"{libm}:{ours}", f"{libm}:{ours}"),
                          (f"{ours} {libm}", f"{ours} {libm}")]:
        same(run(RUN, *preload, env=dict(os.environ, LD_PRELOAD=before))[1].decode(), after + "\n")
    # One inside another.
    same(run(RUN, RUN, RUN, "--stats", *preload)[1].decode(), ours + "\n")
    # Another one would be there twice.
    shutil.copy(ours, "libadsm.so.0")
    here = os.path.abspath("libadsm.so.0")
    same(run(RUN, *preload, env=dict(os.environ, LD_PRELOAD=f"{here}:{libm}"))[1].decode(), f"{ours}:{libm}\n")


@case
def preloads_mpi():
    """The wrappers of the program's MPI come behind the library, also if that is there already."""
    if not shutil.which("mpicc") or not os.path.exists(os.path.join(BUILD, "interpose/mpi/libadsm-mpi.so.0")):
        skip("no Open MPI")
    with open("list.c", "w", encoding="ascii") as file:
        file.write("#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **words)\n"
                   '{\n\treturn n > 1 ? MPI_Init(&n, &words) : puts(getenv("LD_PRELOAD")) < 0;\n}\n')
    if run("mpicc", "-o", "list", "list.c")[0]:
        skip("mpicc compiles nothing")
    ours = os.path.join(os.path.realpath(os.path.join(BUILD, "lib")), "libadsm.so.0")
    name = next(("libadsm-mpi" + kind for kind in ("", "-mpich")
                 if "libadsm-mpi" + kind + ".so" in run(RUN, "./list")[1].decode()), None)
    assert name, run(RUN, "./list")
    wrappers = os.path.realpath(os.path.join(BUILD, f"interpose/mpi/{name}.so.0"))
    same(run(RUN, "./list")[1].decode(), f"{ours}:{wrappers}\n")
    same(run(RUN, "sh", "-c", f"'{RUN}' ./list")[1].decode(), f"{ours}:{wrappers}\n")
    # Those of another MPI go.
    other = os.path.join(BUILD, "interpose/mpi/libadsm-mpi-none.so")
    libc = next(line.split()[2] for line in run("ldd", sys.executable)[1].decode().splitlines() if "libc.so" in line)
    same(run(RUN, "./list", env=dict(os.environ, LD_PRELOAD=f"{libc}:{ours}:{other}"))[1].decode(),
         f"{libc}:{ours}:{wrappers}\n")


@case
def cannot_preload():
    with open("static.c", "w", encoding="ascii") as file:
        file.write('#include <unistd.h>\nint main(void) { return write(1, "ran\\n", 4) != 4; }\n')
    if subprocess.run([*COMPILER.split(), "-static", "-o", "static", "static.c"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode:
        skip("nothing can be linked statically here")
    same(run("./static")[1], b"ran\n")
    for options in [], ["--stats"], ["--audit"]:
        status, out, errors = run(RUN, *options, "./static")
        same((status, out), (126, b""))
        says(errors, "adsmrun: cannot preload a library into ./static: it is statically linked\n")
    # Its first words say that it is for another machine: s390, in big endian.
    with open("static", "r+b") as file:
        file.seek(5)
        file.write(b"\2")
        file.seek(18)
        file.write(b"\0\x16")
    status, _, errors = run(RUN, "./static")
    same(status, 126)
    says(errors, "another type of processor")


@case
def set_user_id():
    shutil.copy("/bin/true", "true")
    if os.getuid():
        skip("only root can make such a file for this")
    os.chown("true", 65534, 65534)
    os.chmod("true", 0o4755)
    if not os.stat("true").st_mode & stat.S_ISUID or os.statvfs(".").f_flag & os.ST_NOSUID:
        skip("nothing can be a set-user-ID program here")
    status, _, errors = run(RUN, "./true")
    same(status, 126)
    says(errors, "it is a set-user-ID program")
    os.chmod("true", 0o2755)
    says(run(RUN, "./true")[2], "it is a set-group-ID program")
    os.chmod("true", 0o755)
    same(run(RUN, "./true")[0], 0)


@case
def installed():
    """A tree that was moved to where it now is, in a folder with a space in its name."""
    tree = os.path.abspath("a tree")
    subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tree], check=True,
                   stdout=subprocess.DEVNULL)
    launcher = subprocess.run(["find", tree, "-name", "adsmrun"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()
    status, out, _ = run(launcher, "cat", "/proc/self/maps")
    same(status, 0)
    libraries = mapped(out)
    same(len(libraries), 1)
    assert libraries.pop().startswith(tree + "/")
    same(run(launcher, "--list")[0], 0)
    os.mkdir("and more")
    status, out, errors = run(launcher, "--stats=json:and more/a report", "--trace", "and more/a trace", SHARES,
                              KERNELS, "exec", "cat", "/proc/self/maps")
    same((status, errors), (0, ""))
    assert mapped(out).pop().startswith(tree + "/")
    same(report("and more/a report")["final"], True)
    trace_end("and more/a trace")
    # Through a link, and without the library.
    os.symlink(launcher, "link")
    same(run("./link", "true")[0], 0)
    for path in glob.glob(tree + "/**/libadsm.so*", recursive=True):
        os.unlink(path)
    status, _, errors = run("./link", "true")
    if status:
        same(status, 125)
        says(errors, "adsmrun: libadsm.so.0 was not found")


# ---- what the program finds

# What shells would hide: they set some of it anew.
STATES = [["grep", "-E", "^(Sig(Blk|Ign|Cgt|Pnd)|ShdPnd|NoNewPrivs)", "/proc/self/status"], ["ls", "/proc/self/fd"],
          ["sh", "-c", "umask; pwd; ulimit -a; cat; echo to stderr >&2"]]


@case
def untouched():
    def before():
        os.umask(0o27)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2])

    def state(what, *command):
        done = subprocess.run([*command, *what], input=b"through\n", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, preexec_fn=before)
        return done.returncode, done.stdout, done.stderr

    for what in STATES:
        alone = state(what)
        same(alone[0], 0)
        same(state(what, RUN), alone)
        status, out, errors = state(what, RUN, "--stats")
        same((status, out), alone[:2])
        same(errors, alone[2] + f"adsmrun: {what[0]} used no shared memory\n".encode())
        same(state(what, RUN, "--trace", "t")[:2], alone[:2])
    # Not even the three that everybody has are opened.
    fds = ["sh", "-c", f"exec 0<&- 2>&-; {{ '{RUN}' --stats sh -c 'ls /proc/$$/fd'; }}"]
    same(run(*fds)[1], run(*["sh", "-c", "exec 0<&- 2>&-; sh -c 'ls /proc/$$/fd'"])[1])


# ---- signals

def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


class Puppet:
    """One that writes the signals it gets, under the launcher, in a process group of its own."""

    def __init__(self, *options, group=os.setpgrp):
        self.process = subprocess.Popen([RUN, *options, PUPPET], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, preexec_fn=group)
        self.expect("ready")

    def expect(self, line):
        same(self.process.stdout.readline(), line + "\n")

    def kill(self, number):
        self.process.send_signal(number)

    def stopped(self, number):
        pid, status = os.waitpid(self.process.pid, os.WUNTRACED)
        same((pid, os.WIFSTOPPED(status) and os.WSTOPSIG(status)), (self.process.pid, number))
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            child = file.read().strip()
        while state_of(child) != "T":
            os.sched_yield()

    def rest(self):
        """Wait until the launcher has passed on what it was told: none of that arrives later than what is next."""
        while True:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
                text = file.read()
            if re.search(r"^State:\s+S", text, re.M) and re.search(r"^ShdPnd:\s+0+$", text, re.M):
                return
            os.sched_yield()

    def end(self):
        """Nothing else has come."""
        self.process.stdin.close()
        self.expect("end")
        same(self.process.stdout.read(), "")
        same(self.process.wait(), 3)


@case
def passes_signals():
    for options in [], ["--stats"]:
        puppet = Puppet(*options)
        for name, number in SIGNALS.items():
            puppet.kill(number)
            puppet.expect(name)
        puppet.end()
    # From its own group, as scripts do: there is nobody else to pass it on.
    puppet = Puppet("--stats", group=None)
    puppet.kill(signal.SIGTERM)
    puppet.expect("TERM")
    puppet.end()
    # To the whole group: once as it is, and once more if that has been taken when adsmrun passes it on.
    puppet = Puppet("--stats")
    os.killpg(puppet.process.pid, signal.SIGTERM)
    puppet.expect("TERM")
    puppet.rest()
    puppet.process.stdin.close()
    assert puppet.process.stdout.read() in ("end\n", "TERM\nend\n"), "a signal too many"
    same(puppet.process.wait(), 3)


@case
def job_control():
    puppet = Puppet("--stats")
    for number in signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU:
        puppet.kill(number)
        puppet.stopped(number)
        puppet.kill(signal.SIGCONT)
        puppet.expect("CONT")
    puppet.kill(signal.SIGCONT)     # while nothing is stopped
    puppet.expect("CONT")
    # The whole job, as a shell does. The program may be continued by both: that says it twice at most, at any time.
    for number in [signal.SIGTSTP, signal.SIGSTOP] * 50:
        os.killpg(puppet.process.pid, number)
        puppet.stopped(number)
        os.killpg(puppet.process.pid, signal.SIGCONT)
        puppet.kill(signal.SIGUSR1)
        while (line := puppet.process.stdout.readline()) != "USR1\n":
            same(line, "CONT\n")
        puppet.rest()
    puppet.process.stdin.close()
    same(puppet.process.stdout.read().replace("CONT\n", ""), "end\n")
    same(puppet.process.wait(), 3)


@case
def terminal():
    """What a terminal sends to both comes once."""
    master, slave = pty.openpty()

    def session():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = subprocess.Popen([RUN, "--stats", PUPPET], stdin=slave, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL, preexec_fn=session)
    same(process.stdout.readline(), "ready\n")
    for key, line in [(b"\x03", "INT"), (b"\x1c", "QUIT")] * 100:
        os.write(master, key)
        same(process.stdout.readline(), line + "\n")
    # One who is told by somebody else; not while one from the terminal waits, into which it would go.
    while not re.search(r"^ShdPnd:\s0+$", open(f"/proc/{process.pid}/status", encoding="ascii").read(), re.M):
        pass
    process.send_signal(signal.SIGINT)
    same(process.stdout.readline(), "INT\n")
    os.write(master, b"\x04")
    same(process.stdout.read(), "end\n")
    same(process.wait(), 3)


# ---- programs nobody here wrote

WAYS = [[], ["--stats"], ["--trace", "t"], ["--advise"], ["--stats=json:r", "--trace=t", "--advise"]]


@case
def tar():
    os.makedirs("tree/a b/c")
    for i in range(50):
        with open(f"tree/a b/c/{i}", "wb") as file:
            file.write(os.urandom(i * 5003))
    os.symlink("a b/c/7", "tree/link")
    create = ["tar", "--sort=name", "-cf", "-", "tree"]
    alone = run(*create)
    same(alone[0], 0)
    for options in WAYS:
        status, out, errors = run(RUN, *options, *create)
        assert (status, out) == alone[:2], "another archive"
        same(errors, "adsmrun: tar used no shared memory\n" if options else "")
        os.mkdir("out")
        with subprocess.Popen([RUN, *options, *create], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
            with subprocess.Popen([RUN, *options, "tar", "-xf", "-"], stdin=first.stdout, cwd="out",
                                  stderr=subprocess.DEVNULL) as second:
                first.stdout.close()
                same(second.wait(), 0)
            same(first.wait(), 0)
        same(subprocess.run(["diff", "-r", "tree", "out/tree"]).returncode, 0)
        shutil.rmtree("out")
        without = run("tar", "-xf", "/dev/zero/none")
        same(run(RUN, *options, "tar", "-xf", "/dev/zero/none")[:2], without[:2])


@case
def python3():
    scripts = {
        "exits": "import sys; print(sorted(sys.path)); sys.exit(7)",
        "killed": "import os, signal; print('now', flush=True); os.kill(os.getpid(), signal.SIGTERM)",
        "starts": "import subprocess as s; print(s.run('echo a | tr a b; exit 3', shell=True, capture_output=True));"
                  "print(s.run(['sh', '-c', 'kill -9 $$']).returncode, flush=True);"
                  "import os; os.execlp('echo', 'echo', 'the end')",
    }
    for name, script in scripts.items():
        alone = run(sys.executable, "-c", script)
        same(alone[0], {"exits": 7, "killed": -signal.SIGTERM, "starts": 0}[name])
        for options in WAYS:
            same(run(RUN, *options, sys.executable, "-c", script)[:2], alone[:2])
    same(os.listdir("."), [])


# ---- reports and traces, when the program has ended, and how

@case
def reports():
    status, out, errors = run(RUN, "--stats", SHARES, KERNELS, "return")
    same((status, out), (0, b""))
    says(errors, "adsm: report on", "shares")
    assert "incomplete" not in errors and "adsmrun" not in errors, errors
    # Somewhere else, and twice over what is there.
    for _ in range(2):
        same(run(RUN, "--stats=text:r", "--trace", "t", SHARES, KERNELS, "return"), (0, b"", ""))
        same(sorted(os.listdir(".")), ["r", "t"])
        with open("r", encoding="utf-8") as file:
            says(file.read(), "adsm: report on")
        same(trace_end("t")["complete"], True)
    same(run(RUN, "--stats=json:r", SHARES, KERNELS, "return"), (0, b"", ""))
    got = report("r")
    same((got["final"], "ended" in got), (True, False))
    # Into what is no file, through a pipe, and where the program has gone elsewhere.
    status, out, _ = run(RUN, "--stats=json:/dev/stdout", SHARES, KERNELS, "return")
    same(json.loads(out)["final"], True)
    same(run(RUN, "--stats=json:elsewhere", "sh", "-c", f"cd /; exec '{SHARES}' '{KERNELS}' return"), (0, b"", ""))
    same(report("elsewhere")["final"], True)
    same(sorted(os.listdir(".")), ["elsewhere", "r", "t"])
    # Nothing of all that.
    same(run(RUN, "--stats=off", "--trace", "off", "--advise=0", SHARES, KERNELS, "return"), (0, b"", ""))
    same(run(RUN, "--stats=off", "true"), (0, b"", ""))
    # In the environment, some of it.
    same(run(RUN, "--trace=t", SHARES, KERNELS, "return", env=dict(os.environ, ADSM_STATS="json:r2")), (0, b"", ""))
    same(report("r2")["final"], True)


def page(path):
    with open(path, encoding="utf-8") as file:
        data = re.search(r'id="data">(.*?)</script>', file.read(), re.S).group(1)
    return json.loads(data)[:-1]


@case
def pages():
    same(run(RUN, "--html", "p.html", SHARES, KERNELS, "return"), (0, b"", ""))
    same(os.listdir("."), ["p.html"])
    (only,) = page("p.html")
    assert only["report"]["final"] and only["report"]["objects"]
    totals = only["report"]["totals"]
    same(sum(only["trace"]["events"][7::8]), totals["h2d_bytes"] + totals["d2h_bytes"])
    # With the files that it is made of.
    same(run(RUN, "--html=p.html", "--stats=json:r", "--trace=t", SHARES, KERNELS, "return"), (0, b"", ""))
    same(sorted(os.listdir(".")), ["p.html", "r", "t"])
    (only,) = page("p.html")
    same(only["report"], report("r"))
    same(only["trace"]["end"], trace_end("t"))
    # Of a program that is killed, and of two processes.
    same(run(RUN, "--html", "p.html", SHARES, KERNELS, "raise", "9")[0], -signal.SIGKILL)
    (only,) = page("p.html")
    says(only["report"]["ended"], "killed by signal 9")
    same(only["trace"]["end"]["complete"], False)
    twice = f"'{SHARES}' '{KERNELS}' return; " * 2
    same(run(RUN, "--html", "p.html", "sh", "-c", twice)[0], 0)
    same(len({one["report"]["pid"] for one in page("p.html") if one["trace"]}), 2)
    # Each report has the trace of its own process, or none.
    for first, traces in ("ADSM_TRACE=off", [False, True]), ("ADSM_STATS=off", [False]):
        same(run(RUN, "--html", "p.html", "--stats=json:r", "--trace=t", "sh", "-c", f"{first} {twice}")[0], 0)
        same([bool(one["trace"]) for one in page("p.html")], traces)
        for path in glob.glob("[rt]*"):
            os.unlink(path)
    # Refused.
    for options, word in [(["--stats", "--html=q"], "--stats=json:FILE"), (["--html=/none/q"], "write to /none/q"),
                          (["--html=q", "--trace=q"], "name the same file"), (["--html=q", "--files=new"], "--files"),
                          (["--html=/dev/null"], "not a regular file")]:
        status, _, errors = run(RUN, *options, SHARES, KERNELS, "return")
        same(status, 2)
        says(errors, word)
    assert not os.path.exists("q")


@case
def links():
    """Laid by others in a folder where everybody may write: they are replaced, what they lead to is not."""
    library = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(glob.glob(BUILD + "/lib/libadsm.so.0")[0])}
    os.chmod(".", 0o1777)
    with open("victim", "w", encoding="ascii") as file:
        file.write("precious")
    for stats, trace, start in [("", "", [RUN, "--stats=json:r", "--trace=t", SHARES]),
                                ("json:r", "t", ["sh", "-c", 'ln -s victim r.$$.part; exec "$@"', "sh", SHARES])]:
        for name in "r", "t":
            os.symlink("victim", name)
        environment = {**library, "ADSM_STATS": stats, "ADSM_TRACE": trace} if stats else library
        same(run(*start, KERNELS, "return", env=environment), (0, b"", ""))
        assert report("r")["final"]
        trace_end("t")
        for name in "r", "t":
            same(stat.S_IMODE(os.lstat(name).st_mode), 0o600)
            os.unlink(name)
        for left in glob.glob("r.*.part"):
            assert os.path.islink(left)
            os.unlink(left)
        with open("victim", encoding="ascii") as file:
            same(file.read(), "precious")
    same(sorted(os.listdir(".")), ["victim"])


@case
def advises():
    status, out, errors = run(RUN, "--advise", SHARES, KERNELS, "return")
    same((status, out), (0, b""))
    says(errors, "adsm: report on")
    same(run(RUN, "--advise", "--stats=json:r", SHARES, KERNELS, "return"), (0, b"", ""))
    same(report("r")["final"], True)


@case
def processes():
    """Each process its own files."""
    twice = ["sh", "-c", f"'{SHARES}' '{KERNELS}' return; '{SHARES}' '{KERNELS}' return; exit 9"]
    status, out, errors = run(RUN, "--stats", *twice)
    same((status, out), (9, b""))
    same((errors.count("adsm: report on"), len(set(re.findall(r"\(process ([0-9]+)\)", errors)))), (2, 2))
    # What lies there from before, and what is called nearly the same, stays.
    for name in "r.1", "t.1", "r.1.part", "rest", "r.old", "t.1.2.3":
        with open(name, "w", encoding="ascii") as file:
            file.write("old")
    status, _, errors = run(RUN, "--stats=json:r", "--trace=t", *twice)
    same((status, errors), (9, ""))
    for name in "r.1", "t.1", "r.1.part", "rest", "r.old", "t.1.2.3":
        with open(name, encoding="ascii") as file:
            same(file.read(), "old")
        os.unlink(name)
    first, second = sorted(glob.glob("r*"), key=len)
    same((first, second), ("r", f"r.{report(second)['pid']}"))
    same([report(first)["final"], report(second)["final"]], [True, True])
    same([trace_end(path)["complete"] for path in sorted(glob.glob("t*"), key=len)], [True, True])
    same(len(glob.glob("t*")), 2)


def events_of(path):
    with open(path, "rb") as file:
        return file.read().count(b'"ph"')


def ended(status, how, *words, first_snapshot=False):
    """A program that could not end its report and its trace: who reads them is told."""
    wanted = ["--stats=json:r", "--trace=t", SHARES, KERNELS]
    if first_snapshot:
        # Killed from outside, after the library has written a report, and some events.
        with subprocess.Popen([RUN, *wanted, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            same(process.stdout.readline(), b"ready\n")
            while not os.path.getsize("r") or events_of("t") < 4:
                time.sleep(0.01)
            os.kill(report("r")["pid"], -status)
            same((process.stdout.read(), process.stderr.read()), (b"", b""))
            same(process.wait(), status)
    else:
        same(run(RUN, *wanted, *how), (status, b"", ""))
    got = report("r")
    same(got["final"], False)
    says(got["ended"], *words)
    if first_snapshot:
        assert re.search(r" after \d+\.\d s; the report was written \d+\.\d s before that$", got["ended"]), got["ended"]
        assert len(got) > 5, "the rest of the report is gone"
    end = trace_end("t", 3 if first_snapshot else 1)
    same(end["complete"], False)
    says(end["why"], *words)
    same(sorted(os.listdir(".")), ["r", "t"])
    # And in words.
    errors = run(RUN, "--stats", *wanted[2:], *how)[2] if how else ""
    for word in words if how else []:
        says(errors, word)


@case
def ends_sigkill():
    ended(-signal.SIGKILL, ["raise", "9"], "killed by signal 9 (Killed) after ")
    ended(-signal.SIGKILL, None, "killed by signal 9 (Killed) after ", first_snapshot=True)


@case
def ends_sigterm():
    ended(-signal.SIGTERM, ["raise", "15"], "killed by signal 15 (Terminated) after ")
    ended(-signal.SIGTERM, None, "killed by signal 15 (Terminated) after ", first_snapshot=True)


@case
def ends_abort():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ended(-signal.SIGABRT, ["abort"], "killed by signal 6 (Aborted) after ")


@case
def ends__exit():
    ended(6, ["_exit", "6"], "ended by _exit() or became another program; the run's status was 6, after ")


@case
def ends_raw_exec():
    ended(0, ["raw-exec", shutil.which("true")],
          "ended by _exit() or became another program; the run's status was 0, after ")


@case
def ends_other_process():
    """Killed, but not the one that was started."""
    wanted = ["--stats=json:r", "--trace=t", "sh", "-c", f"'{SHARES}' '{KERNELS}' raise 9 2>/dev/null; exit 2"]
    status, _, errors = run(RUN, *wanted)
    same((status, [line for line in errors.splitlines() if "Killed" not in line]), (2, []))
    same(report("r")["final"], False)
    same(trace_end("t", 1)["complete"], False)
    for why in report("r")["ended"], trace_end("t", 1)["why"]:
        says(why, "was killed, or ")


@case
def completes():
    """What a process left in its files, whatever it is, parses and keeps what is whole."""
    whole = '{"ph":"X","pid":1}'
    end = '{"ph":"M","name":"trace_end","args":{"complete":true}}'
    for left, n_whole, complete in [("", 0, False), ("[", 0, False), ("[\n", 0, False), (f"[\n{whole},\n", 1, False),
                                    (f"[\n{whole},\n{whole}", 1, False), (f"[\n{whole},\n{whole[:7]}", 1, False),
                                    (f"[\n{whole},\n{whole},\n" * 1 + whole[:1], 2, False),
                                    ("[\n" + f"{whole},\n" * 9999 + whole[:9], 9999, False),
                                    (f"[\n{whole},\n{end}\n", 1, True), (f"[\n{whole},\n{end}\n]", 1, True),
                                    (f"[\n{whole},\n{end}\n]\n", 1, True)]:
        with open("left", "w", encoding="ascii") as file:
            file.write(left)
        same(run(RUN, "--trace=t", "sh", "-c", 'cat left >"$ADSM_TRACE"; kill -9 $$'), (-9, b"", ""))
        same(trace_end("t", 0)["complete"], complete)
        events = report("t")
        same(events[:-1], [json.loads(whole)] * n_whole)
        if not complete:
            says(events[-1]["args"]["why"], "killed by signal 9 (Killed) after ", "; the trace was written ")
    for left in '{\n\t"final": false,\n\t"pid": 1, "x": {\n\t"y": [1]\n}}\n', "":
        with open("left", "w", encoding="ascii") as file:
            file.write(left.replace(": 1,", ": PID,"))
        # One that was being written, when it was killed.
        script = 'f=${ADSM_STATS#json:}; sed "s/PID/$$/" left >"$f"; echo >"$f.$$.part"; kill -9 $$'
        same(run(RUN, "--stats=json:r", "sh", "-c", script), (-9, b"", ""))
        got = report("r")
        same(got.pop("final"), False)
        says(got.pop("ended"), "killed by signal 9 (Killed) after ", "report")
        same(got.pop("x", None), {"y": [1]} if left else None)
        same(sorted(os.listdir(".")), ["left", "r", "t"])


@case
def execs():
    """Into another program: all is told before. Into one that shares memory again: beside it."""
    same(run(RUN, "--stats=json:r", "--trace=t", SHARES, KERNELS, "exec", "sh", "-c", "echo here; exit 3"),
         (3, b"here\n", ""))
    same(report("r")["final"], True)
    end = trace_end("t")
    same(end["complete"], False)
    says(end["why"], "became another program")
    same(run(RUN, "--stats=json:r", "--trace=t", SHARES, KERNELS, "exec", SHARES, KERNELS, "return"), (0, b"", ""))
    pid = report("r")["pid"]
    same(sorted(os.listdir(".")), ["r", f"r.{pid}", "t", f"t.{pid}"])
    same([report("r")["final"], report(f"r.{pid}")["final"]], [True, True])
    same([trace_end("t")["complete"], trace_end(f"t.{pid}")["complete"]], [False, True])
    errors = run(RUN, "--stats", SHARES, KERNELS, "exec", SHARES, KERNELS, "raise", "15")[2]
    same(errors.count("adsm: report on") + errors.count("before the first report"), 2)
    says(errors, "killed by signal 15")


@case
def exec_fails():
    """And the program goes on; so do its report and its trace. As they do when a child of vfork() becomes another."""
    for how in ["exec", "/no/such/program"], ["vfork", "true"], ["vfork", "/no/such/program"]:
        status, _, errors = run(RUN, "--stats=json:r", "--trace=t", SHARES, KERNELS, *how)
        same((status, errors), (5 if "/" in how[1] else 0, ""))
        same(report("r")["final"], True)
        same(trace_end("t")["complete"], True)


@case
def still_running():
    """One that outlives the launcher ends its files itself."""
    hold, held = os.pipe()
    alive, write_alive = os.pipe()
    script = f"'{SHARES}' '{KERNELS}' wait <&{hold} & read line; exit 8"
    with subprocess.Popen([RUN, "--stats=json:r", "--trace=t", "sh", "-c", script], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[hold, write_alive]) as process:
        os.close(write_alive)
        same(process.stdout.readline(), "ready\n")
        while not os.path.getsize("r"):
            os.sched_yield()
        process.stdin.close()
        errors = process.stderr.readline() + process.stderr.readline()
        same(process.wait(), 8)
        os.close(held)
        says(errors, "t: a process still writes to it", f"r: process {report('r')['pid']} still runs")
        os.read(alive, 1)
    same(report("r")["final"], True)
    same(trace_end("t")["complete"], True)
    # A whole report is not waited for, whoever has its process's number now.
    script = 'f=${ADSM_STATS#text:}; printf "adsm: report on x (process 1)\n" >"$f"'
    same(run(RUN, "--stats", "sh", "-c", script), (0, b"", "adsm: report on x (process 1)\n"))


@case
def out_of_reach():
    """Where a process cannot write its files, it runs all the same; so does one that begins after the end."""
    hold, held = os.pipe()
    alive, write_alive = os.pipe()
    script = f"(read line <&{hold}; '{SHARES}' '{KERNELS}' return; echo $? >status) 2>errors & exit 0"
    with subprocess.Popen([RUN, "--stats", "sh", "-c", script], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          pass_fds=[hold, write_alive]) as process:
        os.close(write_alive)
        same((process.wait(), process.stderr.read()), (0, b"adsmrun: sh used no shared memory\n"))
    os.close(held)
    os.read(alive, 1)
    with open("status", encoding="ascii") as file:
        same(file.read(), "0\n")
    with open("errors", encoding="utf-8") as file:
        says(file.read(), "ADSM_STATS: cannot write to ", "continues without it")
    os.mkdir("gone")
    script = f"rmdir gone; exec '{SHARES}' '{KERNELS}' return"
    status, out, errors = run(RUN, "--trace=gone/t", "sh", "-c", script)
    same((status, out), (0, b""))
    says(errors, "ADSM_TRACE: cannot write to ", "continues without it", "adsmrun: sh used no shared memory")


@case
def audits():
    """Says what it found, and runs the program."""
    status, out, errors = run(RUN, "--audit", "sh", "-c", "echo ran; exit 3")
    same((status, out), (3, b"ran\n"))
    says(errors, "adsmrun: audit of ", "preload         yes", "not examined    ")
    with open("own.c", "w", encoding="ascii") as file:
        file.write("#include <dlfcn.h>\n#include <unistd.h>\n"
                   "int io_uring_setup(void);\nint cuLaunchKernel(void);\n"
                   "int main(void)\n{\n\tsyscall(0);\n\tdlopen(\"x\", 0);\n"
                   "\tif (!getpid())\n\t\treturn io_uring_setup() + cuLaunchKernel();\n\treturn 0;\n}\n"
                   "const char *cuda = \"libcuda.so.1\", *go = \"\\xff Go buildinf:\";\n")
    with open("other.c", "w", encoding="ascii") as file:
        file.write("int io_uring_setup(void);\nint cuLaunchKernel(void);\n"
                   "int io_uring_setup(void) { return 0; }\nint cuLaunchKernel(void) { return 0; }\n")
    compiler = COMPILER.split()
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", "libother.so", "other.c"], check=True)
    subprocess.run([*compiler, "-o", "own", "own.c", "-L.", "-lother", "-Wl,-rpath,$ORIGIN", "-ldl"], check=True,
                   stderr=subprocess.DEVNULL)
    status, _, errors = run(RUN, "--audit", "./own")
    same(status, 0)
    for name, words in [("io_uring", "NOT followed"), ("syscall()", "NOT followed"), ("CUDA driver", "followed"),
                        ("CUDA, opened", "followed"), ("dlopen()", "RTLD_DEEPBIND"), ("Go", "NOT followed")]:
        assert re.search(rf"^  {re.escape(name)} +.*{words}.*\(own\)$", errors, re.M), (name, errors)
    # Of the program's libraries one is linked with this one, and libc is looked into first.
    library = os.path.realpath(os.path.join(os.path.dirname(RUN), "..", "lib", "libadsm.so"))
    if os.path.exists(library):
        os.symlink(library, "libadsm.so.0")
        subprocess.run([*compiler, "-shared", "-fPIC", "-o", "libother.so", "other.c", "-Wl,--no-as-needed", library,
                        "-Wl,-rpath,$ORIGIN"], check=True)
        errors = run(RUN, "--audit", "./own")[2]
        assert re.search(r"^  libadsm +after the C library.*\(own\)$", errors, re.M), errors
    os.unlink("libother.so")
    assert run(RUN, "--audit", "./own")[0] == 127, "its loader found all libraries"


if sys.argv[8] == "check":
    same(sorted(sys.argv[9:]), sorted(CASES))
    sys.exit(0)
if os.environ.get("TEST_SKIP"):
    skip(os.environ["TEST_SKIP"])
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    os.environ["TMPDIR"] = os.path.join(work, "temporary files")
    os.mkdir(os.environ["TMPDIR"])
    for way in sys.argv[8:]:
        folder = os.path.join(work, way)
        os.mkdir(folder)
        os.chdir(folder)
        CASES[way]()
    same(os.listdir(os.environ["TMPDIR"]), [])
    os.chdir("/")
