# SPDX-License-Identifier: MIT
"""Kernels of modules that have PTX only are compiled when they are first used, and a second start compiles nothing.

first.py ADSMCC CC PROGRAM: CC is the C compiler's command, PROGRAM is first.c. A script stands for the compiler and
counts its runs.
first.py ADSMCC CC PROGRAM --time: how long the first use of a kernel of 200 lines takes, and one from the cache."""
import os
import re
import subprocess
import sys
import tempfile

adsmcc, compiler, program = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
problems = []

HEAD = ".version 7.5\n.target sm_80\n.address_size 64\n"
# Adds a number to each of n elements. The second one calls a function, which the first one does not need.
ADD = """.visible .entry NAME(.param .u64 NAME_p, .param .u32 NAME_n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [NAME_p];
    ld.param.u32 %r1, [NAME_n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.u32 %r6, [%rd2];
    BODY
    st.global.u32 [%rd2], %r6;
DONE:
    ret;
}
"""
NEXT = """.func (.param .b32 result) next(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x];
    add.s32 %r2, %r1, 1;
    st.param.b32 [result], %r2;
    ret;
}
"""
CALL = """{ .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r6;
    call.uni (b), next, (a);
    ld.param.b32 %r6, [b]; }"""

# A table of functions, one of which cannot be translated, as surfaces are not supported; and a variable of others.
TABLE = """.extern .global .u32 outside;
.func drawn(.param .b64 x)
{
    .reg .b32 %r;
    .reg .b64 %rd;
    ld.param.u64 %rd, [x];
    suq.width.b32 %r, [%rd];
    ret;
}
.func draws(.param .b64 x)
{
    .reg .b64 %rd;
    ld.param.u64 %rd, [x];
    call drawn, (%rd);
    ret;
}
.global .align 8 .u64 table[1] = {drawn};
"""
CALL_TABLE = """{ .param .b64 a;
    ld.global.u64 %rd3, [table];
    st.param.b64 [a], %rd1;
    p: .callprototype _ (.param .b64 _);
    call %rd3, (a), p; }"""


def add(name, body="add.s32 %r6, %r6, 1;"):
    return ADD.replace("NAME", name).replace("BODY", body)


def total(n):
    """A kernel with n parameters, which adds those after the first."""
    params = ", ".join([".param .u64 sum_p"] + [f".param .u32 sum_{i}" for i in range(1, n)])
    adds = "".join(f"    ld.param.u32 %r1, [sum_{i}];\n    add.s32 %r2, %r2, %r1;\n" for i in range(1, n))
    return (f".visible .entry sum({params})\n{{\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<3>;\n"
            f"    ld.param.u64 %rd1, [sum_p];\n    cvta.to.global.u64 %rd2, %rd1;\n    mov.u32 %r2, 0;\n{adds}"
            "    st.global.u32 [%rd2], %r2;\n    ret;\n}\n")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make(name, text, *words, status=0, options=("--ptx-only",)):
    """The module of a PTX text; adsmcc ends with the status and says the words."""
    write(f"{name}.ptx", HEAD + text)
    done = subprocess.run([adsmcc, "--cc", compiler, *options, f"{name}.ptx", "-o", f"{name}.adsm"], encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if (done.returncode != 0) != (status != 0) or any(word not in done.stdout for word in words):
        problems.append(f"adsmcc {name}: status {done.returncode}, {done.stdout[:600]}")
    return f"{name}.adsm"


def n_compiled():
    with open("count", encoding="utf-8") as file:
        return len(file.read())


def start(module, kernel, what, **options):
    env = {"ADSM_PTX_CC": os.path.abspath("count.sh"), "ADSM_PTX_CACHE": os.path.abspath("cache"),
           "TMPDIR": os.path.abspath("tmp"), **options}
    return subprocess.Popen([program, module, kernel, what], encoding="utf-8", stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env={**os.environ, **env})


def finish(case, process, *words):
    said = process.communicate()[0]
    if process.returncode or any(word not in said for word in words):
        problems.append(f"{case}: status {process.returncode}, {said.strip()[:600]}")
    return said


def run(case, compiled, *arguments, words=(), **options):
    """Run the program. The compiler runs this number of times meanwhile."""
    before = n_compiled()
    said = finish(case, start(*arguments, **options), *words)
    if os.listdir("tmp"):
        problems.append(f"{case}: files are left: {os.listdir('tmp')}")
    if n_compiled() - before != compiled:
        problems.append(f"{case}: compiled {n_compiled() - before} times, not {compiled}")
    return said


def damage(change):
    for name in os.listdir("cache"):
        path = os.path.join("cache", name)
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(change(data))


def check_cache(module):
    run("first use", 1, module, "add", "add")
    run("second start", 0, module, "add", "add")
    run("another kernel", 1, module, "called", "add")
    run("other flags", 1, module, "add", "add", ADSM_PTX_FLAGS="-O1")
    run("other flags again", 0, module, "add", "add", ADSM_PTX_FLAGS="-O1")
    damage(lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    run("a file has other bytes", 1, module, "add", "add")
    damage(lambda data: data[:len(data) // 2])
    run("a file is too short", 1, module, "add", "add")
    run("it is there again", 0, module, "add", "add")
    os.utime("count.sh", (1, 1))
    run("another compiler", 1, module, "add", "add")
    run("no cache", 1, module, "add", "add", ADSM_PTX_CACHE="off")
    # A folder that nobody can write to, not even root.
    run("no folder", 1, module, "add", "add", ADSM_PTX_CACHE="/dev/null/cache")
    if any("." in name for name in os.listdir("cache")):
        problems.append(f"temporary files in the cache: {os.listdir('cache')}")


def check_together(module):
    """Several processes: each one compiles, or finds what another one has compiled."""
    options = {"ADSM_PTX_CACHE": os.path.abspath("cache2")}
    before = n_compiled()
    for process in [start(module, "add", "add", **options) for _ in range(3)]:
        finish("together", process)
    if not 1 <= n_compiled() - before <= 3:
        problems.append(f"together: compiled {n_compiled() - before} times")
    run("after them", 0, module, "add", "add", **options)


def check_errors(module):
    off = {"ADSM_PTX_CACHE": "off"}
    run("no compiler", 0, module, "add", "fails", words=["/nowhere/cc was not found", "Debian: gcc or clang"],
        ADSM_PTX_CC="/nowhere/cc", **off)
    run("no compiler in PATH", 0, module, "add", "fails", words=["cc, gcc or clang was not found"],
        ADSM_PTX_CC="auto", PATH="/nowhere", **off)
    write("fails.sh", "#!/bin/sh\necho first line >&2\necho 'x.c:1:2: error: it is wrong' >&2\nexit 3\n")
    os.chmod("fails.sh", 0o755)
    said = run("the compiler fails", 0, module, "add", "fails", words=["kernel 'add'", "status 3", "it is wrong"],
               ADSM_PTX_CC=os.path.abspath("fails.sh"), **off)
    if "first line" in said:
        problems.append(f"the compiler fails: {said}")
    write("killed.sh", "#!/bin/sh\nkill -9 $PPID\n")
    os.chmod("killed.sh", 0o755)
    before = os.listdir("tmp")
    process = start(module, "add", "fails", ADSM_PTX_CC=os.path.abspath("killed.sh"), **off)
    said = process.communicate()[0]
    if process.returncode or "was killed" not in said:
        problems.append(f"the shell is killed: status {process.returncode}, {said}")
    for name in set(os.listdir("tmp")) - set(before):
        os.rmdir(os.path.join("tmp", name))
    run("no temporary folder", 0, module, "add", "fails", words=["TMPDIR"], TMPDIR="/nowhere", **off)


def check_limits():
    for options in (("--ptx-only",), ()):
        module = make("sum", total(256), options=options)
        run("256 parameters", 1 if options else 0, module, "sum", "sum")
        name = "n" * 1024
        module = make("name", add(name), options=options)
        run("1024 characters", 1 if options else 0, module, name, "add")
        run("and one less", 0, module, name[1:], "get")
    make("many", total(257), "257 parameters", "the limit is 256", status=1)
    make("long", add("n" * 1025), "1025 characters", "the limit is 1024", status=1)
    # Kernels that cannot be in the module are left out, and the others work.
    module = make("mixed", total(257) + add("add"), "kernel sum is left out")
    run("a kernel is left out", 1, module, "add", "add")
    text = TABLE + add("called", CALL_TABLE) + add("reads", "ld.global.u32 %r6, [outside];") + add("add")
    for options in ((), ("-O0",)):
        module = make("table", text, "kernel called is left out: it calls drawn",
                      "kernel reads is left out: variable outside is declared", options=options)
        run(f"others use a table and a variable {options}", 0, module, "add", "add")


def check_levels():
    """Code that needs more than the device's processors have is compiled again."""
    module = make("level", add("add"), options=())
    run("code", 0, module, "add", "add")
    with open(module, "rb") as file:
        data = file.read()
    if data.count(b"entries 1 code ") != 1:
        problems.append("the module does not name a level")
    at = data.index(b"entries 1 code ") + len(b"entries 1 code ")
    write("old.adsm", "")
    with open("old.adsm", "wb") as file:
        file.write(data[:at] + b"9" + data[at + 1:])
    run("code for other processors", 1, "old.adsm", "add", "add")


def measure():
    """Print the library's own times, the best of five."""
    lines = ["mad.lo.s32 %r6, %r6, %r5, %r1;", "shr.u32 %r7, %r6, 3;", "xor.b32 %r6, %r6, %r7;", "add.s32 %r6, %r6, 7;",
             "mul.hi.u32 %r7, %r6, %r4;", "sub.s32 %r6, %r6, %r7;"]
    body = "\n    ".join(lines[i % len(lines)] for i in range(200 - ADD.count("\n")))
    module = make("long", add("long_kernel", body))
    times = {}
    for _ in range(5):
        cache = tempfile.mkdtemp(dir=".")
        for kind in "first use", "from the cache":
            process = start(module, "long_kernel", "run", ADSM_PTX_CACHE=os.path.abspath(cache), ADSM_LOG="info",
                            ADSM_PTX_CC=compiler)
            said = process.communicate()[0]
            found = re.search(r"kernel 'long_kernel': .*, (\d+) us", said)
            if process.returncode or not found:
                sys.exit(said)
            times[kind] = min(times.get(kind, 1e9), int(found[1]) / 1000)
    for kind, time in times.items():
        print(f"a kernel of 200 lines of PTX, {kind}: {time:.1f} ms")


def main():
    for folder in ("tmp", "cache"):
        os.mkdir(folder)
    write("count", "")
    write("count.sh", f"#!/bin/sh\nprintf x >>'{os.path.abspath('count')}'\nexec {compiler} \"$@\"\n")
    os.chmod("count.sh", 0o755)
    if "--time" in sys.argv:
        measure()
        return
    module = make("add", NEXT + add("add") + add("called", CALL))
    check_cache(module)
    check_together(module)
    for what in ("signals", "subreaper"):
        run(f"no signals and no children: {what}", 1, module, "add", what, ADSM_PTX_CACHE="off")
    check_errors(module)
    check_levels()
    check_limits()
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        main()
