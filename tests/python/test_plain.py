# SPDX-License-Identifier: MIT
"""A program without preload: what works, what does not, and what the package says. And adsm.run."""
import os
import subprocess
import sys

import kernels
import numpy as np
import pytest

import adsm


def run(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run([sys.executable, *arguments], cwd=os.path.dirname(__file__), env={**environment, **variables},
                          capture_output=True, text=True, check=False)


def test_system_calls(tmp_path):
    """A warning at the first array, and only then; system calls fail, but not on held arrays."""
    assert not adsm.is_preloaded()
    with pytest.warns(adsm.PreloadWarning, match="adsm.run") as warned:
        a = adsm.array(np.arange(10000.0))
        adsm.zeros(3)
    assert len(warned) == 1 and warned[0].filename == __file__
    shift = adsm.kernel(kernels.SHIFT)
    shift(a, 1, a.size, threads=a.size)
    with pytest.raises(OSError, match="0 written"):
        np.save(tmp_path / "a.npy", a)
    with adsm.held(a, "in"):
        np.save(tmp_path / "a.npy", a)
    assert (np.load(tmp_path / "a.npy") == np.arange(10000) + 1).all()
    shift(a, 1, a.size, threads=a.size)
    with open(tmp_path / "a.npy", "rb", 0) as file:
        with pytest.raises(OSError, match="Bad address"):
            file.readinto(a)
        with adsm.held(a, "out"):
            file.seek(128)
            file.readinto(a)
    assert (a == np.arange(10000) + 1).all()


PROGRAM = """
import sys, numpy as np, adsm, kernels
a = adsm.zeros(100000)
adsm.kernel(kernels.SHIFT)(a, 1, a.size, threads=a.size)
np.save(sys.argv[1], a)
once, copy = adsm.Once(3), adsm.DeviceArray(3)
once[0], event, unit = 1, copy.start_copy_from(np.zeros(3)), once.fresh(1)
print(adsm.is_preloaded(), sys.argv[2:], sys.flags.optimize, __name__)
"""


@pytest.mark.parametrize("way", ["script", "-c", "-m"])
def test_run(tmp_path, way):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    path = f"{os.environ['PYTHONPATH']}:{os.path.dirname(__file__)}:{tmp_path}"
    target = {"script": [str(script)], "-c": ["-c", PROGRAM], "-m": ["-m", "program"]}[way]
    done = run("-O", "-W", "error", "-m", "adsm.run", *target, str(tmp_path / "a.npy"), "x y", "-z", PYTHONPATH=path)
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout == "True ['x y', '-z'] 1 __main__\n"
    assert np.load(tmp_path / "a.npy").sum() == 100000


def test_run_keeps_what_is_preloaded():
    """Another libadsm leaves the list, and the library comes first."""
    from adsm.run import environment
    os.environ["LD_PRELOAD"] = "/a/libx.so:/b/libadsm.so.0 liby.so"
    try:
        assert environment("/c/libadsm.so.0")["LD_PRELOAD"] == "/c/libadsm.so.0:/a/libx.so:liby.so"
        assert environment("/c d/libadsm.so.0")["LD_PRELOAD"] == "libadsm.so.0:/a/libx.so:liby.so"
        assert environment("/c d/libadsm.so.0")["LD_LIBRARY_PATH"].split(":")[0] == "/c d"
        with pytest.raises(SystemExit):
            environment("/c:d/libadsm.so.0")
    finally:
        del os.environ["LD_PRELOAD"]


def test_run_fails():
    assert run("-m", "adsm.run").returncode == 2
    assert run("-m", "adsm.run", "--help").stdout.startswith("usage")
    done = run("-m", "adsm.run", "script.py", ADSM_LIBRARY="/nonexistent/libadsm.so.0")
    assert done.returncode == 125 and "ADSM_LIBRARY" in done.stderr
    assert run("-m", "adsm.run", "-c", "raise SystemExit(7)").returncode == 7


def test_reports_name_the_line(tmp_path):
    script = tmp_path / "volume.py"
    script.write_text("import adsm\n\na = adsm.zeros(1000)\nb = adsm.array(a[:5], name='mine')\n")
    done = run("-m", "adsm.run", str(script), ADSM_STATS="text")
    assert "volume.py:3" in done.stderr and "mine" in done.stderr and "volume.py:4" not in done.stderr
    # A name in the report has 31 bytes of UTF-8, and that of a file any bytes.
    for name, said in (b"caf\xe9.py", "caf?.py:3"), ("измерение_данных.py".encode(), "ерение_данных.py:3"):
        path = os.path.join(os.fsencode(tmp_path), name)
        os.rename(script, path)
        script = path
        done = run("-m", "adsm.run", path, ADSM_STATS="text", PYTHONUTF8="1")
        assert f'"{said}"' in done.stderr
