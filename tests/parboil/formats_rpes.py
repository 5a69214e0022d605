# SPDX-License-Identifier: MIT
"""The files of rpes: what is wrong with one is said in one line, and what is right is run:
formats_rpes.py PROGRAM"""
import os
import re
import tempfile

from program import fails, parboil, result

FOLDER = tempfile.mkdtemp()
GEOMETRY, BASIS, OUTPUT = (os.path.join(FOLDER, name) for name in ["files.0", "files.1", "output"])


def write(geometry, basis):
    for path, text in (GEOMETRY, geometry), (BASIS, basis):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)


def run(*args):
    """Run with the files as they are; the lines of the output file."""
    result("rpes", "--size", "small", "--input", GEOMETRY, "--input", BASIS, "--output", OUTPUT, *args)
    with open(OUTPUT, encoding="ascii") as file:
        return file.read().splitlines()


def refused(path, text):
    """The files as they are are refused, for what is wrong in the one at @path."""
    said = fails(1, text, "run", "rpes", "--size", "small", "--input", GEOMETRY, "--input", BASIS)
    assert said == f"parboil: rpes: {path}:{text}\n", (text, said)


def bad_geometry(text, geometry, basis="ATOM H 1\nSHELL 1\n0.12 1\n"):
    write(geometry, basis)
    refused(GEOMETRY, text)


def bad_basis(text, basis):
    write("ATOMS 1\nH 0 0 0\n", basis)
    refused(BASIS, text)


def shells(symbol, counts):
    """An atom of the basis with shells of so many primitives."""
    lines = [f"ATOM {symbol} {len(counts)}"]
    for n in counts:
        lines += [f"SHELL {n}"] + [f"{0.1 * (i + 1):.9g} {1 / n:.9g}" for i in range(n)]
    return "\n".join(lines) + "\n"


def test_generated():
    done = parboil("generate", "rpes", "--size", "small", "--output", os.path.join(FOLDER, "files"))
    assert done.stdout == (f"{GEOMETRY}: 338 bytes, FNV-1a ed6d97bacf2c2d4e\n"
                           f"{BASIS}: 492 bytes, FNV-1a 3806fdd3fcad1628\n"), done.stdout
    outputs = [run(*args) for args in [["--variant", "explicit"], ["--protocol", "batch"], ["--protocol", "lazy"],
                                       ["--protocol", "rolling", "--block-size", "4K"]]]
    assert all(output == outputs[0] for output in outputs)
    assert len(outputs[0]) == 2000
    for i, line in enumerate(outputs[0]):
        assert re.fullmatch(fr"{i}\t-?\d\.\d{{6}}e[+-]\d\d", line), line
    assert abs(float(outputs[0][0].split("\t")[1]) - 0.088370229) < 1e-4, outputs[0][0]


def test_limits():
    """Shells as large as they may be, and the last offset that a shell may have."""
    write("ATOMS 2\n\nX 0 0 0\nX 1.5 0 -0.25\n", shells("X", [15]))
    assert len(run()) == 5
    write("ATOMS 2\nY 0 0 0\n  Y\t1 1 1  \n\n", shells("X", [15] * 17) + "\n" + shells("Y", [2]))
    assert len(run("--variant", "explicit")) == 5


def test_basis():
    good = "ATOM H 1\nSHELL 1\n0.12 1\n"
    bad_basis("1: the file ends, and ATOM is missing", "")
    bad_basis("3: the file ends, and ATOM is missing", "\n  \n")
    bad_basis('1: "SHELL" stands where ATOM must be', "SHELL 1\n0.12 1\n")
    bad_basis("1: the symbol is missing", "ATOM\n")
    bad_basis('1: the symbol "Hydrogen" is longer than 7 characters', "ATOM Hydrogen 1\n")
    bad_basis("1: the number of shells is missing", "ATOM H\n")
    bad_basis('1: the number of shells is "0", and must be a number from 1 to 256', "ATOM H 0\n")
    bad_basis('1: "more" is too much in this line', "ATOM H 1 more\n")
    bad_basis("2: the file ends, and SHELL is missing", "ATOM H 1\n")
    bad_basis('4: "ATOM" stands where SHELL must be', "ATOM H 2\nSHELL 1\n0.12 1\nATOM O 1\n")
    bad_basis('2: the number of primitives is "16", and must be a number from 1 to 15', "ATOM H 1\nSHELL 16\n")
    bad_basis('2: the number of primitives is "-1", and must be a number from 1 to 15', "ATOM H 1\nSHELL -1\n")
    bad_basis('2: "x" is too much in this line', "ATOM H 1\nSHELL 1 x\n")
    bad_basis("4: the file ends, and a primitive is missing", "ATOM H 1\nSHELL 2\n0.12 1\n")
    bad_basis('3: the exponent is "a", and must be a number', "ATOM H 1\nSHELL 1\na 1\n")
    bad_basis("3: the exponent is 0, and must be more than 0", "ATOM H 1\nSHELL 1\n0 1\n")
    bad_basis("3: the exponent is -2, and must be more than 0", "ATOM H 1\nSHELL 1\n-2 1\n")
    bad_basis("3: the exponent is 1e+39, which is too large for single precision", "ATOM H 1\nSHELL 1\n1e39 1\n")
    bad_basis("3: the coefficient is missing", "ATOM H 1\nSHELL 1\n0.12\n")
    bad_basis('3: the coefficient is "nan", and must be a number', "ATOM H 1\nSHELL 1\n0.12 nan\n")
    bad_basis('3: "1" is too much in this line', "ATOM H 1\nSHELL 1\n0.12 1 1\n")
    bad_basis('4: "0.3" stands where ATOM must be', good + "0.3 1\n")
    bad_basis('4: the atom "H" comes a second time', good + good)
    # 255 primitives in 17 shells, one at the last offset, and one more.
    bad_basis("278: 256 primitives come before this shell, and at most 255 may",
              shells("H", [15] * 17) + shells("O", [1]) + "ATOM N 1\nSHELL 1\n1 1\n")
    bad_basis("770: 256 primitives come before this shell, and at most 255 may",
              "".join(shells(f"H{i}", [1]) for i in range(257)))


def test_geometry():
    bad_geometry("1: the file ends, and ATOMS is missing", "")
    bad_geometry('1: "H" stands where ATOMS must be', "H 0 0 0\n")
    bad_geometry("1: the number of atoms is missing", "ATOMS\n")
    bad_geometry('1: the number of atoms is "0", and must be a number from 1 to 255', "ATOMS 0\n")
    bad_geometry('1: the number of atoms is "256", and must be a number from 1 to 255', "ATOMS 256\n")
    bad_geometry('1: "1" is too much in this line', "ATOMS 1 1\nH 0 0 0\n")
    bad_geometry("3: the file ends after 1 of 2 atoms", "ATOMS 2\nH 0 0 0\n")
    bad_geometry('3: the basis has no atom "He"', "ATOMS 2\nH 0 0 0\nHe 0 0 0\n")
    bad_geometry("2: y is missing", "ATOMS 1\nH 0\n")
    bad_geometry('2: z is "zero", and must be a number', "ATOMS 1\nH 0 0 zero\n")
    bad_geometry("2: x is -1e+40, which is too large for single precision", "ATOMS 1\nH -1e40 0 0\n")
    bad_geometry('2: "0" is too much in this line', "ATOMS 1\nH 0 0 0 0\n")
    bad_geometry("3: the file goes on after 1 atoms", "ATOMS 1\nH 0 0 0\nH 1 0 0\n")
    bad_geometry("3: with this atom there are 512 shells, and at most 474 may be", "ATOMS 2\nX 0 0 0\nX 1 0 0\n",
                 shells("X", [1] * 256))
    bad_geometry(" its 340 shells make more than 2147483647 blocks of work", "ATOMS 20\n" + "X 0 0 0\n" * 20,
                 shells("X", [15] * 17))


def test_missing():
    write("ATOMS 1\nH 0 0 0\n", "ATOM H 1\nSHELL 1\n0.12 1\n")
    run()
    os.unlink(BASIS)
    refused(BASIS, " No such file or directory")
    fails(2, "takes 2 input files (geometry and basis), not 1", "run", "rpes", "--input", GEOMETRY)


try:
    for test in test_generated, test_limits, test_basis, test_geometry, test_missing:
        test()
finally:
    for path in GEOMETRY, BASIS, OUTPUT:
        if os.path.exists(path):
            os.unlink(path)
    # Nothing else is left.
    os.rmdir(FOLDER)
