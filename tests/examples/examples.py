# SPDX-License-Identifier: MIT
"""Examples, built and run as their pages say, with an installed library: examples.py MESON BUILD SANITIZER NAME...

A page's shell commands run in a copy of the example's folder. What they print must be right, by a computation of its
own here, and the same as in the page, where the page has it."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

import pictures

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def single(x):
    """The nearest number of type float."""
    return ctypes.c_float(x).value


def install(meson, build, root):
    """Install the library below a folder. The environment of programs that use it."""
    subprocess.run([meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root], check=True,
                   stdout=subprocess.DEVNULL)
    found = subprocess.run(["find", root, "-name", "adsm.pc", "-o", "-name", "libadsm.so", "-o", "-name", "adsmcc"],
                           check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    where = {os.path.basename(path): os.path.dirname(path) for path in found}
    return dict(os.environ, PKG_CONFIG_SYSROOT_DIR=root, PKG_CONFIG_PATH=where["adsm.pc"], LC_ALL="C",
                LD_LIBRARY_PATH=where["libadsm.so"], PATH=where["adsmcc"] + ":" + os.environ["PATH"],
                # More ranks than processors, all on this machine: tests/mpi/run.py explains these.
                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe", OMPI_MCA_mpi_yield_when_idle="1",
                OMPI_MCA_btl="^tcp,uct,openib,ofi")


class Run:
    """A copy of an example, and its page."""
    def __init__(self, name, folder, environment):
        self.name, self.folder, self.environment = name, os.path.join(folder, name), environment
        os.makedirs(self.folder)
        source = os.path.join(TOP, "examples", name)
        for file in os.listdir(source):
            with open(os.path.join(source, file), encoding="utf-8") as old, \
                    open(os.path.join(self.folder, file), "w", encoding="utf-8") as new:
                new.write(old.read())
        with open(os.path.join(TOP, "docs", "examples", name + ".md"), encoding="utf-8") as file:
            self.page = file.read()

    def path(self, name):
        return os.path.join(self.folder, name)

    def shell(self, commands):
        """What the commands print."""
        done = subprocess.run(["sh", "-ec", commands], cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
        # Whether moving data takes long enough for a warning depends on the machine.
        said = re.sub(r"^adsm: warning: .* took .*\n", "", done.stdout, flags=re.M)
        if done.returncode:
            sys.exit(f"status {done.returncode}: {commands}\n{said}")
        return said

    def as_in_page(self):
        """Run the commands of the page, and compare with what the page says that they print."""
        commands = re.findall(r"^```sh\n(.*?)^```", self.page, re.M | re.S)
        printed = re.findall(r"^```text\n(.*?)^```", self.page, re.M | re.S)
        assert commands, f"docs/examples/{self.name}.md has no commands"
        said = self.shell("".join(commands))
        assert not printed or said == "".join(printed), f"printed:\n{said}but the page has:\n{''.join(printed)}"
        return said


def check_convolve(run):
    width, height = 37, 23
    pixels = pictures.pattern(width, height)
    pictures.write_png(run.path("in.png"), width, height, pixels)
    run.as_in_page()
    for name, output in [("blur", "blurred.png"), ("edges", "edges.png")]:
        got = pictures.read_png(run.path(output))
        assert got == (width, height, pictures.convolve(name, width, height, pixels)), f"{output} is wrong"
    with open(run.path("broken.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n and no more")
    said = run.shell("! ./convolve blur broken.png out.png")
    assert said.startswith("convolve: broken.png: ") and not os.path.exists(run.path("out.png")), said


def plate(n, steps):
    now = [100.0] * n + [0.0] * (n * (n - 1))
    for _ in range(steps):
        new = list(now)
        for y in range(1, n - 1):
            for i in range(y * n + 1, y * n + n - 1):
                new[i] = single(0.25 * single(single(single(now[i - 1] + now[i + 1]) + now[i - n]) + now[i + n]))
        now = new
    return now[n // 2 * n + n // 2]


def check_heat(run):
    said = run.as_in_page()
    lines = said.splitlines()
    assert len(lines) == 3 and lines[1] == lines[2], said  # in two runs, and in one
    assert run.shell("cmp plate whole && echo the same") == "the same\n"
    assert run.shell("./heat 20 30 small") == f"30 steps: {plate(20, 30):.4f} degrees in the middle\n"
    assert "too short" in run.shell("head -c 100 plate >short; ! ./heat 60 1 short")
    assert "another size" in run.shell("! ./heat 61 1 plate")
    assert "symbolic links" in run.shell("ln -s loop loop; ! ./heat 60 1 loop && test -L loop")


def check_kmeans(run):
    said = run.as_in_page()
    with open(run.path("points.csv"), encoding="utf-8") as file:
        points = [tuple(map(float, line.split(","))) for line in file]
    sums = {}
    for line in said.splitlines():
        size, x, y = re.fullmatch(r"(\d+) points around (-?[\d.]+),(-?[\d.]+)", line).groups()
        sums[(float(x), float(y))] = int(size)
    groups = {centre: [] for centre in sums}
    for point in points:
        groups[min(sums, key=lambda c: (c[0] - point[0]) ** 2 + (c[1] - point[1]) ** 2)].append(point)
    for centre, own in groups.items():
        mean = [sum(point[i] for point in own) / len(own) for i in range(2)]
        assert len(own) == sums[centre] and all(abs(mean[i] - centre[i]) < 0.006 for i in range(2)), (centre, mean)
    assert "not x,y" in run.shell("printf '1,2\\n3;4\\n' >bad.csv; ! ./kmeans 1 bad.csv")
    assert run.shell("printf '0,0\\n2,2' >two.csv; ./kmeans 1 two.csv") == "2 points around 1.00,1.00\n"


def check_wordcount(run):
    run.as_in_page()
    text = "".join("word%d%s" % (i, " \n\t\v"[i * 7 % 4] * (i % 3 + 1)) for i in range(30000)) + "end"
    for name, part in [("long", text), ("one", "x"), ("blank", " \n" * 4096), ("empty", ""),
                       ("edge", "a" * 4096 + "b " + "c" * 4094 + " d")]:
        with open(run.path(name), "w", encoding="utf-8") as file:
            file.write(part)
        wanted = f"{part.count(chr(10))} {len(part.split())} {len(part)} {name}\n"
        said = run.shell(f"./wordcount {name}")
        assert said == wanted, (said, wanted)


def check_opencl(run):
    said = run.as_in_page()
    weights = [2 * i + 1 for i in range(65536)]
    data = list(range(65536))
    for turn in range(10):
        data[turn] += 100
        data = [(x * w + i) % 2 ** 32 for i, (x, w) in enumerate(zip(data, weights))]
    assert said == f"{sum(data) % 2 ** 32}\n" * 3, said


def check_histogram(run):
    said = run.as_in_page()
    with open(run.path("histogram.c"), encoding="utf-8") as file:
        text = file.read().lower()
    wanted = "".join(f"{chr(c)} {text.count(chr(c))}\n" for c in range(ord("a"), ord("z") + 1))
    assert said == wanted, said


def check_rod(run):
    said = run.as_in_page()
    cells = [100.0 if 1000 < i <= 2000 else 20.0 for i in range(1, 5041)]
    for _ in range(200):
        edge = [0.0, *cells, 0.0]
        cells = [0.25 * edge[i - 1] + 0.5 * edge[i] + 0.25 * edge[i + 1] for i in range(1, 5041)]
    near, total = re.fullmatch(r"cell 1000: ([\d.]+) degrees, all cells: ([\d.]+)\n", said).groups()
    assert abs(float(near) - cells[999]) < 0.01 and abs(float(total) - sum(cells) / 5040) < 0.01, (said, cells[999])
    assert run.shell("mpirun -n 3 ./rod") == said, "three ranks have another result"


def check_primes(run):
    said = run.as_in_page()
    limit = 256 * 4096
    sieve = bytearray([0, 0]) + bytearray([1]) * (limit - 2)
    for i in range(2, 1024):
        if sieve[i]:
            sieve[i * i::i] = bytes(len(range(i * i, limit, i)))
    wanted = "".join(f"{sum(sieve[:n])} primes below {n}\n" for n in range(limit // 4, limit + 1, limit // 4))
    assert said == wanted, said


def main():
    meson, build, sanitizer, *names = sys.argv[1:]
    if sanitizer != "none":
        print(f"a library with the {sanitizer} sanitizer does not load into a program without it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        environment = install(meson, build, os.path.join(folder, "root"))
        for name in names:
            print(name)
            globals()["check_" + name](Run(name, folder, environment))


main()
