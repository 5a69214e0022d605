/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - twelve kernels as one text for CUDA C (kernels.cu) and OpenCL C (kernels.cl). kernels.c has the same
 * kernels in the dialect of adsm_kernel.h.
 */

KERNEL(saxpy, (GLOBAL float *y, GLOBAL const float *x, float a, int n))
{
	int i = GLOBAL_X;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

/* A filter of 5 x 5, which leaves the edges. */
KERNEL(conv2d, (GLOBAL float *out, GLOBAL const float *in, GLOBAL const float *filter, int width, int height))
{
	int x = GLOBAL_X, y = GLOBAL_Y;

	if (x >= 2 && x < width - 2 && y >= 2 && y < height - 2) {
		float sum = 0;

		for (int j = 0; j < 5; j++)
			for (int i = 0; i < 5; i++)
				sum += in[(y + j - 2) * width + x + i - 2] * filter[j * 5 + i];
		out[y * width + x] = sum;
	}
}

KERNEL(gemm, (GLOBAL float *c, GLOBAL const float *a, GLOBAL const float *b, int n))
{
	int x = GLOBAL_X, y = GLOBAL_Y;
	float sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[y * n + k] * b[k * n + x];
	c[y * n + x] = sum;
}

KERNEL(gemm_tiled, (GLOBAL float *c, GLOBAL const float *a, GLOBAL const float *b, int n))
{
	SHARED(float, as, 16 * 16);
	SHARED(float, bs, 16 * 16);
	int tx = LOCAL_X, ty = LOCAL_Y, x = GLOBAL_X, y = GLOBAL_Y;
	float sum = 0;

	for (int k = 0; k < n; k += 16) {
		as[ty * 16 + tx] = a[y * n + k + tx];
		bs[ty * 16 + tx] = b[(k + ty) * n + x];
		BARRIER;
		for (int i = 0; i < 16; i++)
			sum += as[ty * 16 + i] * bs[i * 16 + tx];
		BARRIER;
	}
	c[y * n + x] = sum;
}

DEVICE float cnd(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * FABS(d));
	float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f +
			  k * (-1.821255978f + k * 1.330274429f))));
	float value = 0.39894228f * EXP(-0.5f * d * d) * poly;

	return d > 0 ? 1.0f - value : value;
}

KERNEL(blackscholes, (GLOBAL float *call, GLOBAL float *put, GLOBAL const float *price, GLOBAL const float *strike,
		      GLOBAL const float *years, float rate, float volatility, int n))
{
	int i = GLOBAL_X;

	if (i < n) {
		float s = price[i], x = strike[i], t = years[i], root = SQRT(t);
		float d1 = (LOG(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
		float d2 = d1 - volatility * root, e = x * EXP(-rate * t);

		call[i] = s * cnd(d1) - e * cnd(d2);
		put[i] = e * (1.0f - cnd(d2)) - s * (1.0f - cnd(d1));
	}
}

/* The sum of each block of 256. */
KERNEL(reduce, (GLOBAL float *sums, GLOBAL const float *in))
{
	SHARED(float, part, 256);
	int t = LOCAL_X;

	part[t] = in[GLOBAL_X];
	BARRIER;
	for (int step = 128; step > 0; step /= 2) {
		if (t < step)
			part[t] += part[t + step];
		BARRIER;
	}
	if (t == 0)
		sums[BLOCK_X] = part[0];
}

KERNEL(transpose, (GLOBAL float *out, GLOBAL const float *in, int n))
{
	SHARED(float, tile, 16 * 17);
	int tx = LOCAL_X, ty = LOCAL_Y;

	tile[ty * 17 + tx] = in[GLOBAL_Y * n + GLOBAL_X];
	BARRIER;
	out[(BLOCK_X * 16 + ty) * n + BLOCK_Y * 16 + tx] = tile[tx * 17 + ty];
}

/* Bodies are x, y, z and mass. */
KERNEL(nbody, (GLOBAL float *force, GLOBAL const float *body, int n))
{
	int i = GLOBAL_X;
	float x = body[4 * i], y = body[4 * i + 1], z = body[4 * i + 2], fx = 0, fy = 0, fz = 0;

	for (int j = 0; j < n; j++) {
		float dx = body[4 * j] - x, dy = body[4 * j + 1] - y, dz = body[4 * j + 2] - z;
		float d2 = dx * dx + dy * dy + dz * dz + 0.01f, d = 1.0f / SQRT(d2);
		float f = body[4 * j + 3] * d * d * d;

		fx += f * dx;
		fy += f * dy;
		fz += f * dz;
	}
	force[3 * i] = fx;
	force[3 * i + 1] = fy;
	force[3 * i + 2] = fz;
}

/* Each block counts 16 bytes a thread in its own 256 counters, and adds them to those of all. */
KERNEL(histogram, (GLOBAL int *bins, GLOBAL const unsigned char *data))
{
	SHARED(int, own, 256);
	int t = LOCAL_X;

	own[t] = 0;
	BARRIER;
	for (int i = 0; i < 16; i++)
		ADD_SHARED(&own[data[BLOCK_X * 4096 + i * 256 + t]], 1);
	BARRIER;
	ADD_GLOBAL(&bins[t], own[t]);
}

KERNEL(mandelbrot, (GLOBAL int *counts, int width, int height))
{
	int px = GLOBAL_X, py = GLOBAL_Y, n = 0;
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

/* A step of heat in a plane, with the borders repeated. */
KERNEL(hotspot, (GLOBAL float *out, GLOBAL const float *temperature, GLOBAL const float *power, int width, int height))
{
	int x = GLOBAL_X, y = GLOBAL_Y;

	if (x < width && y < height) {
		int at = y * width + x;
		int left = x > 0 ? at - 1 : at, right = x < width - 1 ? at + 1 : at;
		int up = y > 0 ? at - width : at, down = y < height - 1 ? at + width : at;
		float own = temperature[at];

		out[at] = own + 0.1f * (power[at] + (temperature[left] + temperature[right] - 2.0f * own) * 0.5f +
					(temperature[up] + temperature[down] - 2.0f * own) * 0.25f +
					(80.0f - own) * 0.01f);
	}
}

/* Samples are kx, ky, kz and magnitude. */
KERNEL(mriq, (GLOBAL float *re, GLOBAL float *im, GLOBAL const float *x, GLOBAL const float *y, GLOBAL const float *z,
	      GLOBAL const float *k, int n))
{
	int i = GLOBAL_X;
	float px = x[i], py = y[i], pz = z[i], sum_re = 0, sum_im = 0;

	for (int j = 0; j < n; j++) {
		float angle = 6.2831853f * (k[4 * j] * px + k[4 * j + 1] * py + k[4 * j + 2] * pz);

		sum_re += k[4 * j + 3] * COS(angle);
		sum_im += k[4 * j + 3] * SIN(angle);
	}
	re[i] = sum_re;
	im[i] = sum_im;
}
