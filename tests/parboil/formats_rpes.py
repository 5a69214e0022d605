# SPDX-License-Identifier: MIT
"""The files of rpes: what is wrong with one is said in one line, and what is right is run:
formats_rpes.py PROGRAM"""
import itertools
import math
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


def basis_of(**atoms):
    """A basis of these atoms, with shells of so many primitives."""
    lines = [f"TOTAL ATOMS\t\t{len(atoms)}", f"TOTAL SHELLS\t{sum(map(len, atoms.values()))}", ""]
    for symbol, counts in atoms.items():
        lines += [f"ATOM \t\t{symbol}", f"SHELLS\t{len(counts)}", ""]
        for k, n in enumerate(counts, 1):
            lines += [f"SHELL\t{k}\tPRIMITIVES\t{n}"]
            lines += [f"  {k}   S   {i}   {0.1 * i:.9g}   {1 / n:.9g}" for i in range(1, n + 1)]
    return "\n".join(lines) + "\n"


ONE = "TOTAL ATOMS 1\nTOTAL SHELLS 1\nATOM H\nSHELLS 1\nSHELL 1 PRIMITIVES 1\n1 S 1 0.12 1\n"


def bad_geometry(text, geometry, basis=ONE):
    write(geometry, basis)
    refused(GEOMETRY, text)


def bad_basis(text, basis):
    write("ATOMS 1\nH 0 0 0\n", basis)
    refused(BASIS, text)


def test_generated():
    done = parboil("generate", "rpes", "--size", "small", "--output", os.path.join(FOLDER, "files"))
    assert done.stdout == (f"{GEOMETRY}: 338 bytes, FNV-1a ed6d97bacf2c2d4e\n"
                           f"{BASIS}: 1394 bytes, FNV-1a 44f8e42968528be5\n"), done.stdout
    outputs = [run(*args) for args in [["--variant", "explicit"], ["--protocol", "batch"], ["--protocol", "lazy"],
                                       ["--protocol", "rolling", "--block-size", "4K"]]]
    assert all(output == outputs[0] for output in outputs)
    assert len(outputs[0]) == 2000
    for i, line in enumerate(outputs[0]):
        assert re.fullmatch(fr"{i}\t-?\d\.\d{{6}}e[+-]\d\d", line), line
    assert abs(float(outputs[0][0].split("\t")[1]) - 0.088370229) < 1e-4, outputs[0][0]


def test_limits():
    """Shells as large as they may be, and the last offset that a shell may have."""
    write("ATOMS 2\n\nX 0 0 0\nX 1.5 0 -0.25\n", basis_of(X=[15]))
    assert len(run()) == 5
    write("ATOMS 2\nY 0 0 0\n  Y\t1 1 1  \n\n", basis_of(X=[15] * 17, Y=[2]))
    assert len(run("--variant", "explicit")) == 5


def erf_integral(x):
    return 1 - x / 3 if x < 1e-7 else 0.5 * math.sqrt(math.pi / x) * math.erf(math.sqrt(x))


def contracted(centres, shells):
    """One integral, as it is defined; four centres and four lists of primitives."""
    total = 0
    for (a, ca), (b, cb), (c, cc), (d, cd) in itertools.product(*shells):
        p, q = a + b, c + d
        first = [(a * x + b * y) / p for x, y in zip(centres[0], centres[1])]
        second = [(c * x + d * y) / q for x, y in zip(centres[2], centres[3])]
        factor = math.exp(-a * b / p * math.dist(centres[0], centres[1])**2
                          - c * d / q * math.dist(centres[2], centres[3])**2) / (p * q * math.sqrt(p + q))
        total += ca * cb * cc * cd * factor * erf_integral(math.dist(first, second)**2 * p * q / (p + q))
    return 2 * math.pi**2.5 * total


def test_archived():
    """Files as they are published: lines that end in \\r\\n, columns between tabs, numbers of a larger basis in the
    columns that say nothing, and more atoms than the geometry states, the last without an end of line."""
    basis = ["TOTAL ATOMS\t\t2", "TOTAL SHELLS\t3", "", "", "ATOM \t\tO", "SHELLS\t2", "",
             "SHELL\t1\tPRIMITIVES\t2", "      1   S       1         11.7200000    0.309645947",
             "      1   S       2          1.7590000   -0.405467272", "",
             "SHELL\t2\tPRIMITIVES\t1", "      3   S      17         0.3023000    1.000000000000", "", "",
             "ATOM \t\tH", "SHELLS\t1", "", "SHELL\t1\tPRIMITIVES\t1",
             "      7   S      23         0.1220000    0.950000000000", "", ""]
    geometry = ["ATOMS\t2", "H\t1.661\t0.681\t1.943", "O\t1.943\t0.739\t1.981", "He\t2.71\t6.185\t7.54", "H\t1\t1\t1"]
    write("\r\n".join(geometry), "\r\n".join(basis))
    lines = run()
    hydrogen, oxygen = [[(0.122, 0.95)]], [[(11.72, 0.309645947), (1.759, -0.405467272)], [(0.3023, 1)]]
    shells = [((1.661, 0.681, 1.943), s) for s in hydrogen] + [((1.943, 0.739, 1.981), s) for s in oxygen]
    quartets = list(itertools.combinations_with_replacement(shells, 4))
    assert len(lines) == len(quartets) == 15, lines
    for i, (line, quartet) in enumerate(zip(lines, quartets)):
        expected = contracted([centre for centre, _ in quartet], [primitives for _, primitives in quartet])
        index, value = line.split("\t")
        assert int(index) == i and abs(float(value) - expected) <= 1e-9 + 1e-3 * abs(expected), (line, expected)


def test_basis():
    head = "TOTAL ATOMS 1\nTOTAL SHELLS 1\n"
    atom = head + "ATOM H\nSHELLS 1\n"
    shell = atom + "SHELL 1 PRIMITIVES 1\n"
    bad_basis("1: the file ends, and TOTAL ATOMS is missing", "")
    bad_basis("3: the file ends, and TOTAL ATOMS is missing", "\n  \n")
    bad_basis('1: "ATOM" is there instead of TOTAL ATOMS', "ATOM H 1\nSHELL 1\n0.12 1\n")
    bad_basis('1: "MASS" is there instead of TOTAL ATOMS', "TOTAL MASS 1\n")
    bad_basis('1: the number of atoms is "0", but must be a number from 1 to 256', "TOTAL ATOMS 0\n")
    bad_basis("2: the file ends, and TOTAL SHELLS is missing", "TOTAL ATOMS 1\n")
    bad_basis('2: the number of shells is "x", but must be a number from 1 to 256', "TOTAL ATOMS 1\nTOTAL SHELLS x\n")
    bad_basis("3: the file ends, and ATOM is missing", head)
    bad_basis('3: "SHELLS" is there instead of ATOM', head + "SHELLS 1\n")
    bad_basis("3: the symbol is missing", head + "ATOM\n")
    bad_basis('3: the symbol "Hydrogen" is longer than 7 characters', head + "ATOM Hydrogen\n")
    bad_basis('3: "1" is unexpected at the end of this line', head + "ATOM H 1\n")
    bad_basis("4: the number of shells is missing", head + "ATOM H\nSHELLS\n")
    bad_basis('4: the number of shells is "0", but must be a number from 1 to 256', head + "ATOM H\nSHELLS 0\n")
    bad_basis('4: "more" is unexpected at the end of this line', head + "ATOM H\nSHELLS 1 more\n")
    bad_basis("5: the file ends, and SHELL is missing", atom)
    bad_basis('5: "ATOM" is there instead of SHELL', atom + "ATOM O\n")
    bad_basis('5: "15" is there instead of PRIMITIVES', atom + "SHELL 1 15\n")
    bad_basis('5: the number of primitives is "16", but must be a number from 1 to 15',
              atom + "SHELL 1 PRIMITIVES 16\n")
    bad_basis('5: the number of primitives is "-1", but must be a number from 1 to 15',
              atom + "SHELL 1 PRIMITIVES -1\n")
    bad_basis('5: "x" is unexpected at the end of this line', atom + "SHELL 1 PRIMITIVES 1 x\n")
    bad_basis("6: the file ends, and a primitive is missing", shell)
    bad_basis('6: the number of the shell is "S", but must be a number', shell + "S 1 0.12 1\n")
    bad_basis('6: the type is "P", but must be S', shell + "1 P 1 0.12 1\n")
    bad_basis('6: the exponent is "a", but must be a number', shell + "1 S 1 a 1\n")
    bad_basis("6: the exponent is 0, but must be more than 0", shell + "1 S 1 0 1\n")
    bad_basis("6: the exponent is -2, but must be more than 0", shell + "1 S 1 -2 1\n")
    bad_basis("6: the exponent is 1e+39, which is too large for single precision", shell + "1 S 1 1e39 1\n")
    bad_basis("6: the coefficient is missing", shell + "1 S 1 0.12\n")
    bad_basis('6: the coefficient is "nan", but must be a number', shell + "1 S 1 0.12 nan\n")
    bad_basis('6: "1" is unexpected at the end of this line', shell + "1 S 1 0.12 1 1\n")
    bad_basis("7: the file continues after 1 atoms, the number of TOTAL ATOMS", ONE + "1 S 2 0.3 1\n")
    bad_basis(" TOTAL SHELLS is 2, but the atoms have 1", ONE.replace("SHELLS 1", "SHELLS 2", 1))
    bad_basis('7: the atom "H" is defined twice', ONE.replace("ATOMS 1", "ATOMS 2") + "ATOM H\n")
    # 255 primitives in 17 shells, one at the last offset, and one more.
    bad_basis("287: 256 primitives come before this shell, but at most 255 are possible",
              basis_of(H=[15] * 17, O=[1], N=[1]))


def test_geometry():
    bad_geometry("1: the file ends, and ATOMS is missing", "")
    bad_geometry('1: "H" is there instead of ATOMS', "H 0 0 0\n")
    bad_geometry("1: the number of atoms is missing", "ATOMS\n")
    bad_geometry('1: the number of atoms is "0", but must be a number from 1 to 255', "ATOMS 0\n")
    bad_geometry('1: the number of atoms is "256", but must be a number from 1 to 255', "ATOMS 256\n")
    bad_geometry('1: "1" is unexpected at the end of this line', "ATOMS 1 1\nH 0 0 0\n")
    bad_geometry("3: the file ends after 1 of 2 atoms", "ATOMS 2\nH 0 0 0\n")
    bad_geometry('3: the basis has no atom "He"', "ATOMS 2\nH 0 0 0\nHe 0 0 0\n")
    bad_geometry("2: y is missing", "ATOMS 1\nH 0\n")
    bad_geometry('2: z is "zero", but must be a number', "ATOMS 1\nH 0 0 zero\n")
    bad_geometry("2: x is -1e+40, which is too large for single precision", "ATOMS 1\nH -1e40 0 0\n")
    bad_geometry('2: "0" is unexpected at the end of this line', "ATOMS 1\nH 0 0 0 0\n")
    bad_geometry("3: the atoms up to this one have 512 shells, but at most 474 are possible",
                 "ATOMS 2\nX 0 0 0\nX 1 0 0\n",
                 basis_of(X=[1] * 256))
    bad_geometry(" its 340 shells make more than 2147483647 blocks of work", "ATOMS 20\n" + "X 0 0 0\n" * 20,
                 basis_of(X=[15] * 17))


def test_missing():
    write("ATOMS 1\nH 0 0 0\n", ONE)
    run()
    os.unlink(BASIS)
    refused(BASIS, " No such file or directory")
    fails(2, "takes 2 input files (geometry and basis), not 1", "run", "rpes", "--input", GEOMETRY)


try:
    for test in test_generated, test_limits, test_archived, test_basis, test_geometry, test_missing:
        test()
finally:
    for path in GEOMETRY, BASIS, OUTPUT:
        if os.path.exists(path):
            os.unlink(path)
    # Nothing else is left.
    os.rmdir(FOLDER)
