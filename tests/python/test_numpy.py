# SPDX-License-Identifier: MIT
"""NumPy's functions that take or fill arrays, on arrays that a kernel has just written: each result equals that on
ordinary memory. After the kernel only the device has the values, and all pages are closed."""
import io
import pickle
import tempfile

import kernels
import numpy as np
import pytest

import adsm

N = 20000
random = np.random.default_rng(1)
flip = adsm.kernel(kernels.FLIP)


def written(values):
    """An array on shared memory whose values a kernel wrote, and the same as an ordinary array."""
    expected = np.array(values)
    shared = adsm.array(expected)
    whole = shared.reshape(-1, order="A").view("u1")
    whole ^= 0xff
    flip(whole, whole.size, threads=whole.size)
    assert adsm.info(shared).n_invalid == adsm.info(shared).n_blocks
    return shared, expected


def closed(values):
    """An array whose pages are closed, for functions that fill it."""
    return written(values)[0]


FLOATS = random.standard_normal(N)
MATRIX = random.standard_normal((60, 60)) + 60 * np.eye(60)
INTEGERS = random.integers(-1000, 1000, N)

TAKES = {
    "add": (FLOATS, lambda a: a + a),
    "sum": (FLOATS, np.sum),
    "sqrt": (abs(FLOATS), np.sqrt),
    "dot": (MATRIX, lambda a: a @ a),
    "sorted": (FLOATS, np.sort),
    "argsort": (INTEGERS, lambda a: np.argsort(a, kind="stable")),
    "unique": (INTEGERS, lambda a: np.unique(a, return_counts=True)[1]),
    "histogram": (FLOATS, lambda a: np.histogram(a, 10)[0]),
    "cumsum": (INTEGERS, np.cumsum),
    "where": (FLOATS, lambda a: np.where(a > 0)[0]),
    "take": (FLOATS, lambda a: a[[5, 7, N - 1]]),
    "mask": (FLOATS, lambda a: a[a > 1]),
    "fft": (FLOATS, np.fft.fft),
    "rfft2": (MATRIX, np.fft.rfft2),
    "solve": (MATRIX, lambda a: np.linalg.solve(a, a[0])),
    "svd": (MATRIX, lambda a: np.linalg.svd(a)[1]),
    "eigh": (MATRIX + MATRIX.T, lambda a: np.linalg.eigh(a)[0]),
    "inv": (MATRIX, np.linalg.inv),
    "einsum": (MATRIX, lambda a: np.einsum("ij,kj->ik", a, a)),
    "copy": (FLOATS, np.copy),
    "astype": (FLOATS, lambda a: a.astype("f4")),
    "tobytes": (FLOATS, lambda a: np.frombuffer(a.tobytes())),
    "frombuffer": (FLOATS, lambda a: np.frombuffer(a)),
    "tolist": (INTEGERS, lambda a: np.array(a.tolist())),
    "concatenate": (FLOATS, lambda a: np.concatenate([a, a])),
    "byteswap": (INTEGERS, lambda a: a.byteswap()),
    "pickle": (FLOATS, lambda a: pickle.loads(pickle.dumps(a))),
    "pickle 2": (FLOATS, lambda a: pickle.loads(pickle.dumps(a, 2))),
    "fortran": (np.asfortranarray(MATRIX), lambda a: a[:, 3] @ a),
}


def same(result, expected):
    """Whether results are equal. Libraries of linear algebra may round by the alignment of their operands."""
    result, expected = np.asarray(result), np.asarray(expected)
    if result.dtype.kind in "fc":
        return result.dtype == expected.dtype and np.allclose(result, expected, rtol=1e-12, atol=1e-12)
    return result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", TAKES)
def test_takes(name):
    values, function = TAKES[name]
    shared, expected = written(values)
    assert same(function(shared), function(expected))
    assert shared.tobytes("A") == expected.tobytes("A")


FILLS = {
    "add out": (FLOATS, lambda a: np.add(FLOATS, 1, out=a)),
    "multiply self": (FLOATS, lambda a: np.multiply(a, a, out=a)),
    "where out": (FLOATS, lambda a: np.sqrt(a, out=a, where=a > 0)),
    "reduce out": (MATRIX[0], lambda a: np.add.reduce(MATRIX, out=a)),
    "add at": (FLOATS, lambda a: np.add.at(a, [1, 1, 5], 3)),
    "matmul out": (MATRIX, lambda a: np.matmul(MATRIX, MATRIX, out=a)),
    "dot out": (MATRIX, lambda a: np.dot(MATRIX, MATRIX, out=a)),
    "cumsum out": (INTEGERS, lambda a: np.cumsum(INTEGERS, out=a)),
    "clip out": (FLOATS, lambda a: np.clip(a, -1, 1, out=a)),
    "sort": (FLOATS, lambda a: a.sort()),
    "sort integers": (INTEGERS, lambda a: a.sort(kind="stable")),
    "partition": (INTEGERS, lambda a: (a.partition(100), a[:100].sort(), a[101:].sort())),
    "sort columns": (MATRIX, lambda a: a.sort(axis=0)),
    "assign": (FLOATS, lambda a: a.__setitem__(slice(None, None, 3), 5)),
    "mask": (FLOATS, lambda a: a.__setitem__(a < 0, 0)),
    "fill": (FLOATS, lambda a: a.fill(2.5)),
    "copyto": (FLOATS, lambda a: np.copyto(a, FLOATS[::-1])),
    "put": (FLOATS, lambda a: np.put(a, [3, 4], 5)),
    "byteswap": (INTEGERS, lambda a: a.byteswap(inplace=True)),
    "shuffle": (INTEGERS, lambda a: np.random.default_rng(2).shuffle(a)),
    "random out": (FLOATS, lambda a: np.random.default_rng(2).standard_normal(out=a)),
    "fft": (FLOATS.astype("c16"), lambda a: a.__setitem__(..., np.fft.ifft(np.fft.fft(a)))),
    "fromstring": (INTEGERS, lambda a: np.frombuffer(a, "i4").__setitem__(0, 7)),
}


@pytest.mark.parametrize("name", FILLS)
def test_fills(name):
    values, function = FILLS[name]
    shared, expected = written(values)
    function(shared)
    function(expected)
    assert same(shared, expected)


@pytest.fixture(name="file")
def open_file():
    with tempfile.NamedTemporaryFile() as file:
        yield file


def test_save_and_load(file):
    shared, expected = written(FLOATS)
    np.save(file, shared)
    file.seek(0)
    result = closed(FLOATS * 0)
    result[...] = np.load(file)
    assert (result == expected).all()
    shared, expected = written(np.asfortranarray(MATRIX))
    file.seek(0)
    file.truncate()
    np.savez(file, a=shared, b=shared[3])
    file.seek(0)
    loaded = np.load(file)
    assert (loaded["a"] == expected).all() and (loaded["b"] == expected[3]).all()


def test_tofile_and_fromfile(file):
    shared, expected = written(FLOATS)
    shared.tofile(file.name)
    assert (np.fromfile(file.name) == expected).all()
    assert (adsm.array(np.fromfile(file.name)) == expected).all()
    shared.tofile(file.name, sep=" ")
    assert np.allclose(np.fromfile(file.name, sep=" "), expected)


def test_files_of_python(file):
    for buffering in (0, -1):
        shared, expected = written(FLOATS)
        with open(file.name, "wb", buffering) as out:
            assert out.write(shared) == expected.nbytes
        result = closed(FLOATS * 0)
        with open(file.name, "rb", buffering) as source:
            assert source.readinto(result) == expected.nbytes
        assert (result == expected).all()
        result = closed(FLOATS * 0)
        with open(file.name, "rb", buffering) as source:
            source.seek(800)
            assert source.readinto(result[100:200]) == 800
        assert (result[100:200] == expected[100:200]).all() and not result[:100].any() and not result[200:].any()


def test_memory_streams():
    shared, expected = written(FLOATS)
    stream = io.BytesIO()
    np.save(stream, shared)
    stream.seek(0)
    assert (np.load(stream) == expected).all()
    buffers = []
    text = pickle.dumps(shared, 5, buffer_callback=buffers.append)
    assert (pickle.loads(text, buffers=buffers) == expected).all()
    assert not adsm.is_shared(pickle.loads(pickle.dumps(shared)))


@pytest.mark.parametrize("protocol", ["batch", "lazy", "rolling"])
def test_protocols(protocol):
    """Loops of kernels and NumPy, with arrays of several blocks."""
    n = 50000
    a = adsm.array(np.zeros(n), protocol=protocol, block_size="4K")
    shift = adsm.kernel(kernels.SHIFT)
    for turn in range(5):
        shift(a, 1, n, threads=n)
        adsm.sync()
        a[turn::7] += 1
    expected = np.full(n, 5.0)
    for turn in range(5):
        expected[turn::7] += 1
    assert (a == expected).all()
