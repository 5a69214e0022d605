# SPDX-License-Identifier: MIT
"""Spots that divide: the reaction and diffusion of two substances (Gray and Scott), drawn into a PNG file.

    python3 -m adsm.run spots.py [FILE] [--steps N] [--size N]

A kernel in CUDA C computes each step. NumPy makes the first state, adds a drop from time to time, and draws the
picture. All of them use the same arrays, and the program copies nothing.
"""
import argparse
import struct
import zlib

import numpy as np

import adsm

SOURCE = r"""
__device__ float around(const float *p, int x, int y, int n)
{
	int left = (x + n - 1) % n, right = (x + 1) % n, up = (y + n - 1) % n * n, down = (y + 1) % n * n;

	y *= n;
	return 0.2f * (p[y + left] + p[y + right] + p[up + x] + p[down + x]) +
		0.05f * (p[up + left] + p[up + right] + p[down + left] + p[down + right]) - p[y + x];
}

__global__ void react(float *next_u, float *next_v, const float *u, const float *v, int n, float feed, float kill)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < n && y < n) {
		float a = u[y * n + x], b = v[y * n + x], reaction = a * b * b;

		next_u[y * n + x] = a + around(u, x, y, n) - reaction + feed * (1 - a);
		next_v[y * n + x] = b + 0.5f * around(v, x, y, n) + reaction - (feed + kill) * b;
	}
}
"""


def write_png(path, pixels):
    """Write an array of height, width and three colours."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + width * 3), "u1")
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def colours(values):
    """Dark blue to yellow, in 24 steps."""
    stops = np.array([[13, 8, 60], [30, 90, 150], [60, 180, 150], [250, 230, 90]])
    level = np.round(np.clip(values / 0.35, 0, 1) * 24) / 24 * (len(stops) - 1)
    return np.stack([np.interp(level, range(len(stops)), stops[:, i]) for i in range(3)], -1).astype("u1")


def main():
    parser = argparse.ArgumentParser(description="Draw spots that divide.")
    parser.add_argument("file", nargs="?", default="spots.png")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--size", type=int, default=200)
    options = parser.parse_args()
    n, random = options.size, np.random.default_rng(5)
    react = adsm.kernel(SOURCE, "react")
    u, v, next_u, next_v = (adsm.zeros((n, n), "f4", name=name) for name in ("u", "v", "next u", "next v"))
    u[...] = 1
    for step in range(options.steps):
        if step % 500 == 0:
            x, y = random.integers(n - 10, size=2)
            v[y:y + 10, x:x + 10] = 0.5             # the CPU writes a few pages
            print(f"step {step}: mean of v {v.mean():.4f}")
        react(next_u, next_v, u, v, n, 0.03, 0.061, threads=(n, n), block=(32, 8))
        u, v, next_u, next_v = next_u, next_v, u, v
    write_png(options.file, colours(v))
    moved = adsm.stats()
    print(f"{moved.calls} calls, {moved.h2d_bytes:,} bytes to the device, {moved.d2h_bytes:,} bytes back")


if __name__ == "__main__":
    main()
