# SPDX-License-Identifier: MIT
"""The lists of waits in docs/architecture-waits.md name what the code waits for, and nothing else.

The first list has the files that sleep on a futex word, each with the models that explore it or the word "limit".
Such a model is in tests/waits, includes the file unless the list says what else it explores ("its …"), and has a fault
in tests/waits/plants. The second list has the files that
wait in a call of the system, of a driver or of MPI, or in a loop, with the names of these calls."""
import os
import re

import tree

DOCUMENT = "docs/architecture-waits.md"
# Calls that may wait. Mutexes are not among them: their order is held by their ranks.
SYSTEM = r"""ppoll(?:_time64)?|poll|pselect6|pselect|select|epoll_p?wait2?|recv|recvfrom|recvm?msg|send|sendto|
    sendm?msg|accept4?|connect|read|readv|pread(?:64)?|wait|wait4|waitid|waitpid|sigwait|sigwaitinfo|sigtimedwait|
    rt_sigtimedwait|sigsuspend|pause|flock|lockf|pthread_join|pthread_cond_\w*wait|cnd_\w*wait|sem_\w*wait|
    pthread_barrier_wait|semop|msgrcv|mq_\w*receive|sleep|usleep|nanosleep|clock_nanosleep|sched_yield|futex"""
NAMES = [re.compile(pattern, re.X) for pattern in (
    rf"(?<![\w.>])({SYSTEM})\s*\(", rf"\bsys(?:call)?\(SYS_({SYSTEM})\b",
    r"""\b(adsm_os_thread_join|adsm_os_sleep_until_ns|adsm_process_pause|__builtin_ia32_pause|clFinish|
    clWaitForEvents)\(""",
    r"\b(cu(?:Ctx|Stream|Event)Synchronize)\)?\(\w",
    r"""\b(MPI_(?:Init|Finalize|Comm_split|Comm_dup|All|Gather|Bcast|Barrier|Reduce|Scatter|Recv|Mrecv|Probe|Mprobe|
    Wait|Send|Ssend)\w*)\(""")]
# Lines with calls that do not wait: they ask, they declare, or a wrapper makes the program's own call.
OTHERS = re.compile(r"MSG_DONTWAIT|\bWNOHANG\b(?! :)|FUTEX_WAKE|WRAPPER|\bROW\(|\breal\(|\bPMPI_|"
                    r"^\w[\w\s*]*\b\w+\(")


def calls(path):
    """What a file waits in: names of calls."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", tree.read(path), flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    found = {name for line in text.split("\n") if not OTHERS.search(line) for names in NAMES
             for name in names.findall(line)}
    return {name for name in found if not re.search(rf"^static\b[^;{{}}]*\b{name}\(|\(\*{name}\)\(", text, re.M)}


def rows(section):
    """Of each row of a table the files that it names, the names in its other cells, and the last cell."""
    for row in section.splitlines():
        if row.startswith("| `"):
            cells = row.strip("|").split(" | ")
            yield (re.findall(r"`([\w/.]+\.[ch])`", cells[0]), [re.findall(r"`(\w+)`", cell) for cell in cells[1:]],
                   cells[-1].strip(" |"))


def check_futexes(section, paths, problems):
    sleeping = {path for path in paths if re.search(r"\badsm_os_(wait|await)\(", tree.read(path))}
    plants = set(re.findall(r"^== (\w+) ", tree.read("tests/waits/plants"), re.M))
    listed = set()
    for files, names, last in rows(section):
        listed |= set(files)
        models = {model: f"tests/waits/{model}.c" for model in names[-1]}
        problems += [f"{DOCUMENT}: there is no model {source}" for source in models.values()
                     if not os.path.exists(os.path.join(tree.ROOT, source))]
        problems += [f"tests/waits/plants: no fault for the model {model}" for model in models if model not in plants]
        explored = "".join(tree.read(source) for source in models.values())
        if models and not last.startswith("its "):
            problems += [f"{DOCUMENT}: no model of {path} includes it" for path in files
                         if path.endswith(".c") and f'#include "{path}"' not in explored]
        if not names[-1] and "limit" not in last and files != ["lib/base/os_linux.c"]:
            problems.append(f"{DOCUMENT}: {files[0]} waits without a limit, and has no model")
    problems += [f"{path}: sleeps on a futex word, and is not in the list of waits in {DOCUMENT}" for path in
                 sorted(sleeping - listed)]
    problems += [f"{DOCUMENT}: lists waits of {path}, which has none" for path in sorted(listed - sleeping)]
    return len(sleeping)


def check_system(section, paths, problems):
    listed = {}
    for files, names, _ in rows(section):
        for path in files:
            listed.setdefault(path, set()).update(names[0])
    for path in paths:
        found = calls(path)
        problems += [f"{path}: waits in {name}(), and is not in the list of waits in {DOCUMENT}" for name in
                     sorted(found - listed.get(path, set()))]
        problems += [f"{DOCUMENT}: lists waits of {path} in {name}(), which has none" for name in
                     sorted(listed.get(path, set()) - found)]
    problems += [f"{DOCUMENT}: lists {path}, which is no file" for path in sorted(set(listed) - set(paths))]


def main():
    problems = []
    paths = sorted(tree.files(["lib", "backends", "interpose"], (".c", ".h")))
    futexes, system = tree.read(DOCUMENT).split("\n## Waits on a futex word\n")[1].split("\n## Waits in system calls\n")
    n_sleeping = check_futexes(futexes, paths, problems)
    check_system(system, paths, problems)
    tree.finish(problems, n_sleeping)


main()
