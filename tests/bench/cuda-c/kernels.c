/* SPDX-License-Identifier: MIT */
/* kernels.c - the kernels of kernels.h in the dialect of adsm_kernel.h. */
#include "adsm_kernel.h"

ADSM_KERNEL(saxpy, ADSM_INOUT(float, y), ADSM_IN(float, x), ADSM_VAL(float, a), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i < n)
			y[i] = a * x[i] + y[i];
	}
}

ADSM_KERNEL(conv2d, ADSM_INOUT(float, out), ADSM_IN(float, in), ADSM_IN(float, filter), ADSM_VAL(int, width),
	    ADSM_VAL(int, height))
{
	ADSM_THREADS {
		int x = ADSM_GLOBAL_X, y = ADSM_GLOBAL_Y;

		if (x >= 2 && x < width - 2 && y >= 2 && y < height - 2) {
			float sum = 0;

			for (int j = 0; j < 5; j++)
				for (int i = 0; i < 5; i++)
					sum += in[(y + j - 2) * width + x + i - 2] * filter[j * 5 + i];
			out[y * width + x] = sum;
		}
	}
}

ADSM_KERNEL(gemm, ADSM_INOUT(float, c), ADSM_IN(float, a), ADSM_IN(float, b), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int x = ADSM_GLOBAL_X, y = ADSM_GLOBAL_Y;
		float sum = 0;

		for (int k = 0; k < n; k++)
			sum += a[y * n + k] * b[k * n + x];
		c[y * n + x] = sum;
	}
}

ADSM_KERNEL(gemm_tiled, ADSM_INOUT(float, c), ADSM_IN(float, a), ADSM_IN(float, b), ADSM_VAL(int, n))
{
	ADSM_SHARED(float, as, 16 * 16);
	ADSM_SHARED(float, bs, 16 * 16);
	ADSM_PRIVATE(float, sum);

	ADSM_THREADS {
		ADSM_MY(sum) = 0;
	}
	for (int k = 0; k < n; k += 16) {
		ADSM_THREADS {
			int tx = ADSM_THREAD_X, ty = ADSM_THREAD_Y;

			as[ty * 16 + tx] = a[ADSM_GLOBAL_Y * n + k + tx];
			bs[ty * 16 + tx] = b[(k + ty) * n + ADSM_GLOBAL_X];
		}
		ADSM_BARRIER;
		ADSM_THREADS {
			for (int i = 0; i < 16; i++)
				ADSM_MY(sum) += as[ADSM_THREAD_Y * 16 + i] * bs[i * 16 + ADSM_THREAD_X];
		}
		ADSM_BARRIER;
	}
	ADSM_THREADS {
		c[ADSM_GLOBAL_Y * n + ADSM_GLOBAL_X] = ADSM_MY(sum);
	}
}

ADSM_FUNCTION float cnd(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * adsm_fabsf(d));
	float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f +
			  k * (-1.821255978f + k * 1.330274429f))));
	float value = 0.39894228f * adsm_expf(-0.5f * d * d) * poly;

	return d > 0 ? 1.0f - value : value;
}

ADSM_KERNEL(blackscholes, ADSM_INOUT(float, call), ADSM_INOUT(float, put), ADSM_IN(float, price),
	    ADSM_IN(float, strike), ADSM_IN(float, years), ADSM_VAL(float, rate), ADSM_VAL(float, volatility),
	    ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i < n) {
			float s = price[i], x = strike[i], t = years[i], root = adsm_sqrtf(t);
			float d1 = (adsm_logf(s / x) + (rate + 0.5f * volatility * volatility) * t) /
				   (volatility * root);
			float d2 = d1 - volatility * root, e = x * adsm_expf(-rate * t);

			call[i] = s * cnd(d1) - e * cnd(d2);
			put[i] = e * (1.0f - cnd(d2)) - s * (1.0f - cnd(d1));
		}
	}
}

ADSM_KERNEL(reduce, ADSM_INOUT(float, sums), ADSM_IN(float, in))
{
	ADSM_SHARED(float, part, 256);

	ADSM_THREADS {
		part[ADSM_THREAD_X] = in[ADSM_GLOBAL_X];
	}
	for (int step = 128; step > 0; step /= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			if (ADSM_THREAD_X < step)
				part[ADSM_THREAD_X] += part[ADSM_THREAD_X + step];
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		if (ADSM_THREAD_X == 0)
			sums[ADSM_BLOCK_X] = part[0];
	}
}

ADSM_KERNEL(transpose, ADSM_INOUT(float, out), ADSM_IN(float, in), ADSM_VAL(int, n))
{
	ADSM_SHARED(float, tile, 16 * 17);

	ADSM_THREADS {
		tile[ADSM_THREAD_Y * 17 + ADSM_THREAD_X] = in[ADSM_GLOBAL_Y * n + ADSM_GLOBAL_X];
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		out[(ADSM_BLOCK_X * 16 + ADSM_THREAD_Y) * n + ADSM_BLOCK_Y * 16 + ADSM_THREAD_X] =
			tile[ADSM_THREAD_X * 17 + ADSM_THREAD_Y];
	}
}

ADSM_KERNEL(nbody, ADSM_INOUT(float, force), ADSM_IN(float, body), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;
		float x = body[4 * i], y = body[4 * i + 1], z = body[4 * i + 2], fx = 0, fy = 0, fz = 0;

		for (int j = 0; j < n; j++) {
			float dx = body[4 * j] - x, dy = body[4 * j + 1] - y, dz = body[4 * j + 2] - z;
			float d2 = dx * dx + dy * dy + dz * dz + 0.01f, d = 1.0f / adsm_sqrtf(d2);
			float f = body[4 * j + 3] * d * d * d;

			fx += f * dx;
			fy += f * dy;
			fz += f * dz;
		}
		force[3 * i] = fx;
		force[3 * i + 1] = fy;
		force[3 * i + 2] = fz;
	}
}

ADSM_KERNEL(histogram, ADSM_INOUT(int, bins), ADSM_IN(unsigned char, data))
{
	ADSM_SHARED(int, own, 256);

	ADSM_THREADS {
		own[ADSM_THREAD_X] = 0;
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		for (int i = 0; i < 16; i++)
			ADSM_ATOMIC_ADD(&own[data[ADSM_BLOCK_X * 4096 + i * 256 + ADSM_THREAD_X]], 1);
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		ADSM_ATOMIC_ADD(&bins[ADSM_THREAD_X], own[ADSM_THREAD_X]);
	}
}

ADSM_KERNEL(mandelbrot, ADSM_INOUT(int, counts), ADSM_VAL(int, width), ADSM_VAL(int, height))
{
	ADSM_THREADS {
		int px = ADSM_GLOBAL_X, py = ADSM_GLOBAL_Y, n = 0;
		float x0 = -2.0f + 3.0f * (float)px / (float)width, y0 = -1.0f + 2.0f * (float)py / (float)height;
		float x = 0, y = 0;

		while (n < 256 && x * x + y * y < 4.0f) {
			float next = x * x - y * y + x0;

			y = 2.0f * x * y + y0;
			x = next;
			n++;
		}
		counts[py * width + px] = n;
	}
}

ADSM_KERNEL(hotspot, ADSM_INOUT(float, out), ADSM_IN(float, temperature), ADSM_IN(float, power), ADSM_VAL(int, width),
	    ADSM_VAL(int, height))
{
	ADSM_THREADS {
		int x = ADSM_GLOBAL_X, y = ADSM_GLOBAL_Y;

		if (x < width && y < height) {
			int at = y * width + x;
			int left = x > 0 ? at - 1 : at, right = x < width - 1 ? at + 1 : at;
			int up = y > 0 ? at - width : at, down = y < height - 1 ? at + width : at;
			float own = temperature[at];

			out[at] = own + 0.1f * (power[at] +
						(temperature[left] + temperature[right] - 2.0f * own) * 0.5f +
						(temperature[up] + temperature[down] - 2.0f * own) * 0.25f +
						(80.0f - own) * 0.01f);
		}
	}
}

ADSM_KERNEL(mriq, ADSM_INOUT(float, re), ADSM_INOUT(float, im), ADSM_IN(float, x), ADSM_IN(float, y), ADSM_IN(float, z),
	    ADSM_IN(float, k), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;
		float px = x[i], py = y[i], pz = z[i], sum_re = 0, sum_im = 0;

		for (int j = 0; j < n; j++) {
			float angle = 6.2831853f * (k[4 * j] * px + k[4 * j + 1] * py + k[4 * j + 2] * pz);

			sum_re += k[4 * j + 3] * adsm_cosf(angle);
			sum_im += k[4 * j + 3] * adsm_sinf(angle);
		}
		re[i] = sum_re;
		im[i] = sum_im;
	}
}
