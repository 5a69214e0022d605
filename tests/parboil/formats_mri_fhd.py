# SPDX-License-Identifier: MIT
"""The files of mri-fhd: what it reads and writes, and one clear line for what is malformed:
formats_mri_fhd.py PROGRAM"""
import os
import struct
import tempfile

from program import fails, parboil, result


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "input")

    def malformed(text, data):
        with open(path, "wb") as file:
            file.write(data)
        for variant in ["adsm", "explicit"]:
            said = fails(1, text, "run", "mri-fhd", "--size", "small", "--variant", variant, "--input", path)
            assert said.startswith(f"parboil: mri-fhd: {path}: {text}"), (text, said)

    done = parboil("generate", "mri-fhd", "--size", "small", "--output", path)
    assert done.stdout.startswith(f"{path}: 63496 bytes, "), (done.stdout, done.stderr)
    with open(path, "rb") as file:
        good = file.read()
    # Up to d it is the file of mri-q.
    other = os.path.join(folder, "mri-q")
    parboil("generate", "mri-q", "--size", "small", "--output", other)
    with open(other, "rb") as file:
        assert file.read() == good[:59400]

    outputs = []
    for variant in ["adsm", "explicit"]:
        output = os.path.join(folder, variant)
        result("mri-fhd", "--size", "small", "--input", path, "--variant", variant, "--output", output)
        with open(output, "rb") as file:
            outputs.append(file.read())
    assert outputs[0] == outputs[1] and len(outputs[0]) == 4 + 2 * 4096 * 4
    voxels, real = struct.unpack_from("<If", outputs[0])
    imaginary, = struct.unpack_from("<f", outputs[0], 4 + 4096 * 4)
    assert voxels == 4096 and abs(real + 0.06405606) < 1e-3 and abs(imaginary - 0.22577238) < 1e-3

    # One sample is enough; it makes d times the conjugate of phi at voxel 0, where x = y = z = 0.
    voxels = [struct.pack("<256f", *[v / 256 for v in range(256)])] * 3
    k, phi, d = (0.5, -0.25, 2), (0.5, 0.25), (2, -4)
    with open(path, "wb") as file:
        file.write(struct.pack("<ii3f", 1, 256, *k) + b"".join(voxels) + struct.pack("<4f", *phi, *d))
    result("mri-fhd", "--size", "small", "--input", path, "--output", output)
    with open(output, "rb") as file:
        values = struct.unpack("<I512f", file.read())
    product = complex(*phi).conjugate() * complex(*d)
    assert values[0] == 256 and complex(values[1], values[257]) == product, (values[1], values[257], product)

    malformed("ends at byte 0, inside the header", b"")
    malformed("ends at byte 7, inside the header", good[:7])
    malformed("ends at byte 8, inside kx (bytes 8 to 2056)", good[:8])
    malformed("ends at byte 59400, inside dR (bytes 59400 to 61448)", good[:59400])
    malformed("ends at byte 63495, inside dI (bytes 61448 to 63496)", good[:-1])
    malformed("the data ends at byte 63496, the file at byte 63497", good + b"x")
    malformed("byte 0: K is 0", struct.pack("<ii", 0, 4096) + good[8:])
    malformed("byte 0: K is -512", struct.pack("<ii", -512, 4096) + good[8:])
    malformed("byte 4: X is 4095", struct.pack("<ii", 512, 4095) + good[8:])
    malformed("byte 4: X is 0", struct.pack("<ii", 512, 0) + good[8:])
    for number, text in [("nan", "nan"), ("inf", "inf"), ("-inf", "-inf")]:
        bad = struct.pack("<f", float(number))
        malformed(f"byte 8: this value of kx is {text}, but must be finite", good[:8] + bad + good[12:])
        malformed(f"byte 6156: this value of x is {text}, but must be finite", good[:6156] + bad + good[6160:])
        malformed(f"byte 63492: this value of dI is {text}, but must be finite", good[:-4] + bad)
    malformed("ends at byte 63496, inside kx", struct.pack("<ii", 2**31 - 1, 2**31 - 256) + good[8:])
