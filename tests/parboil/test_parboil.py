# SPDX-License-Identifier: MIT
"""parboil as its users run it: exact counts of the paper's protocols, and one clear line for what goes
wrong: test_parboil.py PROGRAM TEST"""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

from program import PROGRAM, expect, fails, parboil, result, start

FIELDS = ["bench", "size", "variant", "backend", "protocol", "block_size", "rolling_size", "link", "calls", "h2d_bytes",
          "d2h_bytes", "const_bytes", "h2d_transfers", "d2h_transfers", "read_faults", "write_faults", "signals",
          "ahead_blocks", "evictions", "moved", "moved_bytes", "seconds", "max_error", "verified"]
SECONDS = ["total", "kernel", "h2d", "d2h", "fault", "io", "cpu"]


def mri_q(*args, **environment):
    """What a run of mri-q reported."""
    report = result("mri-q", "--size", "small", *args, **environment)
    assert list(report) == FIELDS and list(report["seconds"]) == SECONDS, report
    assert report["max_error"] < 1e-2, report
    assert report["calls"] == 9, report
    return report


def test_explicit():
    expect(mri_q("--variant", "explicit"), variant="explicit", protocol="none", h2d_bytes=53248,
           d2h_bytes=34816, h2d_transfers=5, d2h_transfers=3, read_faults=0, write_faults=0, signals=0)


def test_batch():
    expect(mri_q("--protocol", "batch", ADSM_PAPER="1"), protocol="batch", h2d_bytes=792576,
           d2h_bytes=792576, signals=0, evictions=0)
    mri_q("--protocol", "batch")


def test_lazy():
    expect(mri_q("--protocol=lazy", ADSM_PAPER="1"), protocol="lazy", h2d_bytes=53248, d2h_bytes=34816,
           write_faults=5, read_faults=3, evictions=0, ahead_blocks=0)
    mri_q("--protocol", "lazy")


def test_rolling():
    expect(mri_q("--protocol", "rolling", "--block-size", "4K", ADSM_PAPER="1"), protocol="rolling",
           block_size=4096, rolling_size="auto", h2d_bytes=53248, d2h_bytes=34816, write_faults=14,
           read_faults=9, evictions=0, ahead_blocks=0)
    # 14 dirty blocks in a queue of 4.
    expect(mri_q("--protocol", "rolling", "--block-size", "4K", "--rolling-size", "4", ADSM_PAPER="1"),
           rolling_size=4, h2d_bytes=53248, d2h_bytes=34816, write_faults=14, evictions=10)
    expect(mri_q("--rolling-size", "1K"), rolling_size=1024)
    expect(mri_q("--block-size", "4K", "--repeat", "3"), h2d_bytes=53248, d2h_bytes=34816)


def test_options():
    fails(2, "commands are list,", "walk")
    fails(2, "commands are list,")
    fails(2, "benchmarks are cp mri-", "run", "mri-x")
    fails(2, "needs the name of a benchmark", "run")
    fails(2, "table3 has the sizes cfc and cfc-paper", "table3", "--size", "small")
    fails(2, "table3 has the variants adsm and cuda-c", "table3", "--variant", "explicit")
    fails(2, "--nodes takes a number from 1 to 1024", "table3", "--nodes", "1,x")
    fails(2, "--nodes takes a number from 1 to 1024", "table3", "--nodes", "1," * 200 + "x")
    fails(2, "one argument too many for table3", "table3", "cp")
    fails(2, "options are --size --variant --protocol", "run", "mri-q", "--siz", "small")
    fails(2, "options are --size --output", "generate", "mri-q", "--json", "-")
    fails(2, "sizes are small medium paper large32", "run", "mri-q", "--size", "huge")
    fails(2, "variants are adsm explicit cuda-c opencl svm cuda", "run", "mri-q", "--variant", "eager")
    fails(2, "--size needs a value", "run", "mri-q", "--size")
    for repeat in ["0", "-1", "1001", "two", "", "2x"]:
        fails(2, "from 1 to 1000", "run", "mri-q", "--repeat", repeat)
    fails(2, "rolling", "run", "mri-q", "--protocol", "eager")
    fails(2, "5000", "run", "mri-q", "--block-size", "5000")
    fails(2, "none", "run", "mri-q", "--rolling-size", "none")
    fails(2, "cpu", "run", "mri-q", "--backend", "abacus")
    for command in ["run", "table", "compare"]:
        fails(2, "--link is for the backend cpu, not for cluster", command, "mri-q", "--backend", "cluster", "--link",
              "1GB/s")
    fails(2, "--link is for the backend cpu, not for opencl", "run", "mri-q", "--link", "1GB/s", ADSM_BACKEND="opencl")
    # A link that only the environment names belongs to other backends' settings, and is off there.
    expect(mri_q("--link", "1GB/s"), link="1GB/s")
    if (done := parboil("run", "mri-q", "--size", "small", "--json", "-", ADSM_BACKEND="scratchpad",
                        ADSM_CPU_LINK="1GB/s")).returncode == 0:
        expect(json.loads(done.stdout), backend="scratchpad", link="off")
    fails(2, "5000", "table", "mri-q", "--block-size", "5000")
    # The library logs a line of its own before.
    done = parboil("run", "mri-q", "--size", "small", ADSM_PROTOCOL="eager")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 2 and lines[0].startswith("adsm: "), done
    assert lines[1].startswith("parboil: ") and "eager" in lines[1], done


def test_input():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "input")

        def malformed(text, data):
            with open(path, "wb") as file:
                file.write(data)
            fails(1, f"{path}: {text}", "run", "mri-q", "--size", "small", "--input", path)

        done = parboil("generate", "mri-q", "--size", "small", "--output", path)
        assert done.stdout == f"{path}: 59400 bytes, FNV-1a eb4c102d17a5e354\n", done.stdout
        with open(path, "rb") as file:
            good = file.read()
        mri_q("--input", path)
        # With "=" it is this one file, and what follows is none of them.
        assert parboil("run", f"--input={path}", "mri-q", "--size", "small").returncode == 0
        malformed("ends at byte 0, inside the header", b"")
        malformed("ends at byte 7, inside the header", good[:7])
        malformed("ends at byte 8, inside kx (bytes 8 to 2056)", good[:8])
        malformed("ends at byte 59399, inside phiI (bytes 57352 to 59400)", good[:-1])
        malformed("the data ends at byte 59400, the file at byte 59401", good + b"x")
        malformed("byte 0: K is 0", struct.pack("<ii", 0, 4096) + good[8:])
        malformed("byte 0: K is -512", struct.pack("<ii", -512, 4096) + good[8:])
        malformed("byte 4: X is 4095", struct.pack("<ii", 512, 4095) + good[8:])
        malformed("byte 4: X is -256", struct.pack("<ii", 512, -256) + good[8:])
        malformed("ends at byte 59400, inside kx", struct.pack("<ii", 2**31 - 1, 2**31 - 256) + good[8:])
        os.unlink(path)
        fails(1, "No such file", "run", "mri-q", "--input", path)


def test_files():
    """The output file of both variants, and files that cannot be written."""
    outputs = []
    with tempfile.TemporaryDirectory() as folder:
        for variant in ["adsm", "explicit"]:
            path = os.path.join(folder, variant)
            mri_q("--variant", variant, "--output", path)
            with open(path, "rb") as file:
                outputs.append(file.read())
        report = os.path.join(folder, "json")
        assert parboil("run", "mri-q", "--size", "small", "--json", report).stdout == ""
        with open(report, encoding="utf-8") as file:
            assert json.load(file)["verified"]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 4 + 2 * 4096 * 4
    voxels, first = struct.unpack_from("<If", outputs[0])
    assert voxels == 4096 and abs(first - 2.55676508) < 1e-3, (voxels, first)
    fails(1, "No such file", "run", "mri-q", "--size", "small", "--output", "/nonexistent/output")
    fails(1, "No space left", "run", "mri-q", "--size", "small", "--output", "/dev/full")
    fails(1, "No space left", "run", "mri-q", "--size", "small", "--json", "/dev/full")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "input")
        done = subprocess.run([PROGRAM, "generate", "mri-q", "--size", "small", "--output", path], text=True,
                              stderr=subprocess.PIPE, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    assert (done.returncode, done.stderr) == (1, f"parboil: mri-q: {path}: File too large\n"), done
    # And what is printed.
    for args in [["list"], ["run", "scan"], ["run", "scan", "--json", "-"], ["table", "scan"],
                 ["compare", "scan", "vecadd", "--size", "small", "--pairs", "1"]]:
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "No space left" in done.stderr, (args, done.returncode, done.stderr)


def test_table():
    done = parboil("table", "mri-q", "--size", "small", "--block-size", "4K", ADSM_PAPER="1")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split()[2:] for line in done.stdout.splitlines()[2:]}
    assert list(rows) == ["explicit", "batch", "lazy", "rolling"], done.stdout
    for name, numbers in rows.items():
        sent, _, fetched, _, read_faults, write_faults = map(int, numbers[:6])
        assert numbers[-1] == "true", done.stdout
        assert (sent, fetched) == ((792576, 792576) if name == "batch" else (53248, 34816)), done.stdout
        if name != "batch":
            assert read_faults + write_faults == {"explicit": 0, "lazy": 8, "rolling": 23}[name], done.stdout


def processes_of(mark):
    """The processes of the run that has @mark in its environment, by name: numbers."""
    found = {"parboil": [], "adsm-cpu-device": []}
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                name = file.read().strip()
            if name not in found:
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found[name].append(pid)
        except OSError:
            pass    # it has ended meanwhile
    return found


def device_of(mark):
    """The device process of a run; None before there is one."""
    return next(iter(processes_of(mark)["adsm-cpu-device"]), None)


def interrupt(moment, victim, number, args):
    """Send signal @number to the device or the run, @moment seconds into it; its exit status and messages."""
    with tempfile.TemporaryDirectory() as folder:
        run = start(folder, "run", "mri-q", "--size", "small", "--repeat", "1000", *args)
        device = None
        while device is None and run.poll() is None:
            device = device_of(f"TMPDIR={folder}")
        # Not to wait for anything: to meet the run at another moment each time.
        time.sleep(moment)
        if device:
            os.kill(device if victim == "device" else run.pid, number)
        stdout, stderr = run.communicate()
        assert device, (args, run.returncode, stdout, stderr)
        assert not os.listdir(folder), os.listdir(folder)
        return run.returncode, stderr


def test_death():
    """A run whose device is killed says so and ends with status 1, wherever it was."""
    variants = [["--protocol", "batch"], ["--protocol", "lazy"], ["--protocol", "rolling", "--block-size", "4K"],
                ["--variant", "explicit"]]
    for i in range(24):
        status, stderr = interrupt(i * 0.007, "device", signal.SIGKILL, variants[i % 4])
        assert status == 1 and stderr.splitlines()[-1].startswith("parboil: mri-q: "), (i, status, stderr)
    # The signal of data that went down with the device, which is rare: it has to be sent.
    status, stderr = interrupt(0.1, "run", signal.SIGBUS, [])
    assert status == 1 and "parboil: mri-q: lost data at 0x" in stderr, (status, stderr)
    status, stderr = interrupt(0.1, "run", signal.SIGTERM, [])
    assert status == -signal.SIGTERM and not stderr, (status, stderr)


def test_workers():
    """Nothing is left of a measurement that was ended, and a process of it that was killed is told of."""
    for args, victim, number in [(["table"], "program", signal.SIGTERM), (["table"], "program", signal.SIGKILL),
                                 (["compare", "--pairs", "1"], "program", signal.SIGTERM),
                                 (["compare", "--pairs", "1"], "program", signal.SIGKILL),
                                 (["compare", "--pairs", "1"], "worker", signal.SIGKILL),
                                 (["table"], "worker", signal.SIGKILL)]:
        with tempfile.TemporaryDirectory() as folder:
            # Minutes, if it were left alone.
            run = start(folder, *args, "vecadd", "--size", "small", "--link", "50KB/s,10us")
            found = {"parboil": []}
            while len(found["parboil"]) < (5 if "compare" in args else 2) and run.poll() is None:
                found = processes_of(f"TMPDIR={folder}")
            time.sleep(0.1)
            assert run.poll() is None, (args, run.communicate())
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as file:
                children = file.read().split()
            os.kill(run.pid if victim == "program" else int(children[0]), number)
            if victim == "program" or "compare" in args:
                stdout, stderr = run.communicate()
            else:
                while "signal" not in (stderr := run.stderr.readline()):
                    assert stderr, "nothing is said"
                run.kill()
                run.communicate()
            if victim == "worker":
                assert "vecadd: its process was ended by signal 9" in stderr, (args, stderr)
            else:
                assert not stderr, (args, number, stderr)
            while any(processes_of(f"TMPDIR={folder}").values()):
                time.sleep(0.01)    # for ever, if one is left: the test's time is limited
    # An interrupted comparison says how much of it there is; nothing, where it is interrupted before the first pair.
    stdout, delay = "", 1
    while not stdout:   # for ever, if nothing is ever said: the test's time is limited
        with tempfile.TemporaryDirectory() as folder:
            run = start(folder, "compare", "scan", "--size", "small", "--pairs", "1000")
            while len(processes_of(f"TMPDIR={folder}")["parboil"]) < 5 and run.poll() is None:
                pass
            time.sleep(delay)
            run.send_signal(signal.SIGINT)
            stdout, stderr = run.communicate()
            assert run.returncode == 128 + signal.SIGINT, (run.returncode, stdout, stderr)
            delay *= 2
    assert " of 1000 pairs)" in stdout, (stdout, stderr)
    # A signal is not caught where it is ignored, as nohup(1) has it.
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([PROGRAM, "compare", "scan", "--size", "small", "--pairs", "20"], text=True,
                               stdout=subprocess.PIPE, env=dict(os.environ, TMPDIR=folder),
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        while device_of(f"TMPDIR={folder}") is None and run.poll() is None:
            pass
        run.send_signal(signal.SIGHUP)
        stdout, _ = run.communicate()
        assert run.returncode == 0 and "only" not in stdout, (run.returncode, stdout)


globals()["test_" + sys.argv[2]]()
