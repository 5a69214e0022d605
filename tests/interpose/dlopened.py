# SPDX-License-Identifier: MIT
"""The library opened by a program that was started without it, also if another library has a read() of its own, and by
one that was started with it preloaded: dlopened.py LIBRARY dlopen|preload|behind READS."""
import ctypes
import os
import subprocess
import sys

SIZE = 300000
MESSAGE = "opened with dlopen"


def check(truth, what):
    if not truth:
        print(what)
        sys.exit(1)


def use(path, preloaded):
    """In a process of its own: what is started there decides."""
    if preloaded:
        library = ctypes.CDLL(path)
    else:
        # By a name that leads nowhere later.
        os.chdir(os.path.dirname(path))
        library = ctypes.CDLL("./" + os.path.basename(path))
        os.chdir("/")
    library.adsmAlloc.restype = ctypes.c_void_p
    library.adsmAlloc.argtypes = [ctypes.c_size_t]
    library.adsmFree.argtypes = [ctypes.c_void_p]
    library.adsmMemset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    for _ in range(2):
        check(library.adsmInit() == 0, "adsmInit")
        p = library.adsmAlloc(SIZE)
        check(p, "adsmAlloc")
        shared = (ctypes.c_char * SIZE).from_address(p)
        check(library.adsmMemset(p, ord("x"), SIZE) == 0, "adsmMemset")
        check(shared[0] == b"x" and shared.raw == b"x" * SIZE, "reading")
        shared[7] = b"7"
        check(shared[6:9] == b"x7x", "writing")
        if preloaded:
            descriptors(library, p, shared)
        check(library.adsmFree(p) == 0, "adsmFree")
        check(library.adsmShutdown() == 0, "adsmShutdown")


def descriptors(library, p, shared):
    data = bytes(i * 7 & 255 for i in range(SIZE))
    fd = os.memfd_create("file")
    check(os.write(fd, data) == SIZE, "write")
    for read in (lambda: os.preadv(fd, [shared], 0), lambda: os.readv(fd, [shared]),
                 lambda: open(fd, "rb", buffering=0, closefd=False).readinto(shared)):
        # Not one byte of it is where read() would put it.
        check(library.adsmMemset(p, 0, SIZE) == 0, "adsmMemset")
        os.lseek(fd, 0, os.SEEK_SET)
        check(read() == SIZE, "a read of all of it")
        check(shared.raw == data, "what was read")
    os.ftruncate(fd, 0)
    os.lseek(fd, 0, os.SEEK_SET)
    check(library.adsmMemset(p, ord("y"), SIZE) == 0, "adsmMemset")
    check(os.write(fd, shared) == SIZE, "a write of all of it")
    check(os.pread(fd, SIZE, 0) == b"y" * SIZE, "what was written")
    os.close(fd)


def main():
    path, how, reads = sys.argv[1:4]
    if how == "use":
        use(path, sys.argv[3] == "preload")
        return
    if os.environ.get("TEST_SKIP"):
        print("skipped:", os.environ["TEST_SKIP"])
        sys.exit(77)
    environment = dict(os.environ, LD_PRELOAD={"preload": path, "behind": reads}.get(how, ""))
    done = subprocess.run([sys.executable, __file__, path, "use", how], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print(done.stdout, done.stderr)
    check(done.returncode == 0, f"status {done.returncode}")
    check(done.stderr.count(MESSAGE) == (how != "preload"), "the message comes once, where nothing is preloaded")
    check(how == "preload" or f"LD_PRELOAD={os.path.realpath(path)}" in done.stderr, "it names what to preload")


main()
