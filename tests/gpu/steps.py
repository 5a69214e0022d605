# SPDX-License-Identifier: MIT
"""What is done on a GPU, step by step. Each is a function of a Session (see run)."""
import functools
import os
import re
import shutil
import signal

WAYS = ("arena", "view", "separate")
THEMES = ("memory", "calls", "threads", "hold", "stats", "explicit", "prefetch", "errors", "citizen")
ONCE = ("explicit", "errors", "citizen")                # where the protocol makes little difference
ALONE = ("exhausted", "explicit-exhausted", "leave")    # what wants the device for itself
# What leaves a kernel that never ends, which may take time from all that comes later: a step of its own, the last.
ENDLESS = ("ends", "killed", "terminated", "killed-many", "killed-waiting")
FEW = ("sizes", "interior", "states", "named", "unnamed", "constants", "explicit-round-trip")
MODES = {
    "batch": {"ADSM_PROTOCOL": "batch"},
    "lazy": {"ADSM_PROTOCOL": "lazy"},
    "rolling-4K": {"ADSM_PROTOCOL": "rolling", "ADSM_BLOCK_SIZE": "4K"},
    "rolling-64K": {"ADSM_PROTOCOL": "rolling", "ADSM_BLOCK_SIZE": "64K"},
}
BENCHES = ("cp", "mri-fhd", "mri-q", "pns", "rpes", "sad", "tpacf")     # the paper's
OTHERS = ("stencil3d", "vecadd", "blackscholes", "scan")
# Protocol batch sees no loads and stores.
WATCHED = ("touch-threads", "touch-at-once", "touch-callbacks", "touch-neighbours")
SHORT = ("copies", "pipeline", "touch", "touch-streams", "touch-graphs")


def cases(session, theme):
    """A conformance program's own list."""
    said = session.run([session.path("tests/conform/conform-" + theme)], 10).text
    return re.findall(r"^\t(\S+)$", said, re.M)


def case(session, way, mode, theme, name):
    return session.run([session.path("tests/conform/conform-" + theme), name], 60, ADSM_CUDA_MEMORY=way, **MODES[mode])


def conformance(session, modes):
    chosen = [(f"{way}/{mode}", name, functools.partial(case, session, way, mode, theme, name))
              for mode in modes for way in WAYS for theme in THEMES
              if mode == modes[0] == "rolling-64K" or theme not in ONCE
              for name in cases(session, theme) if name not in ENDLESS and (not session.dry or name in FEW)]
    crowd = [item for item in chosen if item[1] not in ALONE]
    alone = [item for item in chosen if item[1] in ALONE]
    session.record.table("objects lie in / protocol", session.crowd(crowd) + session.crowd(alone, 1))


def ways(session):
    """Which way auto chose; then one case and one touch in each."""
    info = session.run([session.path("tools/adsm-info")], 30, ADSM_BACKEND="auto", ADSM_LOG="info")
    info = info._replace(text=info.text.partition("\noption")[0])
    session.record.judge("adsm-info", info)
    if "cuda 0" not in info.text and info.state == "passed":
        session.record.fail("auto", info)
        session.record.say("", "**auto does not choose CUDA.**")
    session.record.say("")
    todo = []
    for way in WAYS:
        todo.append((way, "states", functools.partial(case, session, way, "rolling-64K", "memory", "states")))
        # What is allocated for the device has one address, or is not shared.
        if way != "separate":
            todo.append((way, "touch", functools.partial(session.times, "touch", preload=session.library,
                                                         ADSM_CUDA_MEMORY=way)))
    session.record.table("objects lie in", session.crowd(todo, 1))


def driver(session):
    """What the driver does that the library builds on."""
    result = session.run([session.tool("gpu-address"), session.driver], 40)
    session.record.say(*result.text.splitlines()[1:])
    session.record.judge("address", result, shown=False)
    program = session.tool("gpu-questions")
    for name in session.run([program, "list"], 10).text.split():
        session.record.say("", f"### {name}", "")
        result = session.run([program, session.driver, name], 30)
        session.record.say(result.text.strip())
        session.record.judge(name, result, shown=False)
    for program in sorted(session.programs()):
        if os.path.basename(program) in ("static", "shared", "static-per-thread"):
            session.record.say("", f"Calls of {os.path.basename(program)}:")
            result = session.run([program, "stream"], 20, session.tool("libgpu-trace.so"), stacks=False)
            session.record.judge("calls counted", result)


def conform(session):
    """Conformance, rolling-64K."""
    conformance(session, ["rolling-64K"])


def modes(session):
    """Conformance in the other modes."""
    conformance(session, ["rolling-4K"] if session.dry else ["lazy", "batch", "rolling-4K"])


def programs(session):
    """Programs that know nothing of the library: what copies does the same, what touches starts to work."""
    with open("tests/cuda/programs/program.c", encoding="utf-8") as file:
        every = re.findall(r'^\t{ "([a-z-]+)", do_', file.read(), re.M)
    pairs = []
    for program in sorted(session.programs()):
        name = os.path.basename(program)
        own = every if session.dry or re.search("driver|runtime", name) else ["explicit", "stream", "touch", "read"]
        own = [mode for mode in own if not session.dry or mode in SHORT]
        pairs += [(name, program, mode) for mode in own]
    if not pairs:
        session.record.say("There are no programs: no nvcc here, and none were carried along.")
        return
    alone = {(name, mode): result for name, mode, result in session.crowd(
        [(name, mode, functools.partial(session.run, [program, mode], 30)) for name, program, mode in pairs])}
    results = [("alone", f"{name} {mode}", as_alone(mode, result)) for (name, mode), result in alone.items()]
    protocols = ["rolling"] if session.dry else ["rolling", "lazy", "batch"]
    for group, mode, result in session.crowd(
            [(protocol + " " + name, mode, functools.partial(session.run, [program, mode], 30, session.library,
                                                             ADSM_PROTOCOL=protocol))
             for protocol in protocols for name, program, mode in pairs if protocol != "batch" or mode not in WATCHED]):
        protocol, name = group.split(" ", 1)
        before = alone[name, mode]
        if result.state == "passed" and not is_touch(mode) and last(result) != last(before):
            result = result._replace(state="failed", text=f"not the same:\n{before.text}{result.text}")
        results.append(("preloaded, " + protocol, f"{name} {mode}", result))
    session.record.table("library", results)


def as_alone(mode, result):
    """Without the library, a touch of the device's memory must fail: by SIGSEGV, or as a system call does."""
    if not is_touch(mode) or result.state not in ("passed", "failed"):
        return result
    right = result.status == -signal.SIGSEGV if mode.startswith("touch") else result.state == "failed"
    return result._replace(state="passed" if right else "failed")


def is_touch(mode):
    """It uses the device's pointers on the CPU."""
    return mode.startswith("touch") or mode == "read"


def last(result):
    """The line with the program's sum."""
    return ([line for line in result.text.splitlines() if not line.startswith("adsm:")] or [""])[-1]


def compared(session, *arguments):
    """Times of a program alone, and with the library preloaded."""
    results = {how: session.times(*arguments, preload=library)
               for how, library in (("alone", None), ("preloaded", session.library))}
    values = {}
    for how, result in results.items():
        session.record.judge(f"times, {how}", result, shown=result.state != "passed")
        for name, value, unit in re.findall(r"^([^\t\n]+)\t([^\t\n]+)\t(.*)$", result.text, re.M):
            values.setdefault(name, {"unit": unit})[how] = float(value)
    rows = []
    for name, row in values.items():
        plain, ours = row.get("alone"), row.get("preloaded")
        ratio = f"{ours / plain:.2f}" if plain and ours and not row["unit"].startswith("MiB") else ""
        shown = ["" if value is None else f"{value:.4g}" for value in (plain, ours)]
        rows.append((name, row["unit"], *shown, ratio))
    session.record.rows(("what", "unit", "alone", "preloaded", "preloaded / alone"), *rows)


def launches(session):
    """Launch rates, alone and preloaded."""
    compared(session, "launch", "100" if session.dry else "10000")


def copies(session):
    """Copies of 1 GiB, alone and preloaded, and the host's memory that they take."""
    compared(session, "copy", "16" if session.dry else "1024")


def rivals(session):
    """The benchmarks against programs written by hand (Figure 7 against raw CUDA): above 1 the other one is slower."""
    if session.dry:
        session.parboil("compare", "vecadd", "--rivals", "cuda,cuda-pinned", "--pairs", "1", "--size", "small")
        return
    known = session.run([session.path("parboil/parboil"), "list"], 10).text
    for names, pairs in ((BENCHES, 5), (OTHERS, 3)):
        for name in names:
            line = next((line for line in known.splitlines() if line.split()[:1] == [name]), "")
            own = [rival for rival in re.sub(r".*rivals: ([^;]*).*", r"\1", line).split()
                   if "rivals:" in line and rival not in ("opencl", "svm")]
            session.parboil("compare", name, *(["--rivals", ",".join(own)] if own else []), "--pairs", str(pairs),
                            "--size", "medium")


def benches(session):
    """The library against its floor: fault, call, overlap."""
    if session.dry:
        session.bench("call", "--smoke")
        return
    known = re.findall(r"^\S+", session.run([session.path("tests/bench/adsm-bench"), "list"], 10).text, re.M)
    for name in ("fault", "call", "overlap", "launch", "alloc"):
        if name in known:
            session.bench(name, "--repeat", "5")


def verify(session):
    """The benchmarks' results, in all ways and protocols."""
    todo = []
    for way in WAYS:
        for protocol in ("rolling", "lazy", "batch", "explicit"):
            for bench in BENCHES + OTHERS:
                if session.dry and (way, bench) not in (("arena", "vecadd"), ("view", "mri-q")):
                    continue
                if way != "arena" and protocol != "rolling":
                    continue
                how = ["--variant", "explicit"] if protocol == "explicit" else ["--protocol", protocol]
                todo.append((f"{way}/{protocol}", bench, functools.partial(
                    session.run, [session.path("parboil/parboil"), "run", bench, "--size", "small", *how], 90,
                    ADSM_CUDA_MEMORY=way)))
    session.record.table("objects lie in / protocol", session.crowd(todo))


def sanitizer(session):
    """One program under compute-sanitizer."""
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not tool:
        session.record.say("There is no compute-sanitizer.")
        return
    for what, library in (("alone", None), ("preloaded", session.library)):
        result = session.run([tool, "--tool", "memcheck", session.tool("gpu-times"), session.driver, "copy", "16"], 60,
                             library, stacks=False)
        session.record.judge(f"compute-sanitizer, {what}", result)


def frameworks(session):
    """PyTorch, CuPy, JAX, Triton, NVIDIA's cuda.core, Numba, where they are: alone and preloaded."""
    script = "tests/gpu/frameworks.py"
    # They bring their own libraries of the toolkit, and must not get others.
    own = {} if session.dry else {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    names = session.run(["python3", script, "list"], 60, stacks=False).text.split()
    rows = [("what", "alone, s", "preloaded, s", "ratio", "device memory", "resident", "the same")]
    for name in names:
        results = [session.run(["python3", script, name], 90, library, **own) for library in (None, session.library)]
        alone, ours = (dict(re.findall(r"^(\w+)=(.*)$", result.text, re.M)) for result in results)
        # What fails alone is not the library's, but for what is no framework's.
        if results[0].state != "passed" and not name.startswith("driver"):
            rows.append((name, f"{results[0].state}: {last(results[0])[-100:]}", "", "", "", "", ""))
            continue
        for how, result in zip(("alone", "preloaded"), results):
            session.record.judge(f"{name}, {how}", result, shown=result.state != "passed")
        if "seconds" not in alone or "seconds" not in ours:
            continue
        same = alone.get("checksum") == ours.get("checksum")
        if not same:
            session.record.fail(f"{name}: not the same", results[1])
        rows.append((name, alone["seconds"], ours["seconds"], f"{float(ours['seconds']) / float(alone['seconds']):.2f}",
                     f"{alone.get('device')}, {ours.get('device')} MiB",
                     f"{alone.get('resident')}, {ours.get('resident')} MiB", "yes" if same else "**NO**"))
    session.record.rows(*rows)


def endless(session):
    """Programs that end, or whose device does, while a kernel runs for ever: one after the other."""
    todo = [(way, name, functools.partial(case, session, way, "rolling-64K", theme, name))
            for way in WAYS for theme in ("errors", "citizen") for name in cases(session, theme)
            if name in ENDLESS and (not session.dry or way == "arena")]
    session.record.table("objects lie in", session.crowd(todo, 1))


# The most valuable first, and the seconds that each may take; endless kernels behind all others.
STEPS = ((ways, 45), (driver, 90), (conform, 130), (programs, 80), (launches, 40), (copies, 40), (rivals, 240),
         (benches, 90), (verify, 70), (modes, 220), (sanitizer, 60), (frameworks, 200), (endless, 60))
