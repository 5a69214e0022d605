/* SPDX-License-Identifier: MIT */
/* numbers.cu - integers and conversions whose results are exact, and a few mathematical functions. */

extern "C" __global__ void number_bits(const int *in, unsigned int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], y = in[i ^ 1];
	unsigned int r = (unsigned int)__popc((unsigned int)x) + (unsigned int)__clz(x) * 3 + (unsigned int)__ffs(x) * 5;

	r ^= __brev((unsigned int)x) + __byte_perm((unsigned int)x, (unsigned int)y, (unsigned int)y & 0x7777);
	r += __umulhi((unsigned int)x, (unsigned int)y) ^ (unsigned int)__mulhi(x, y);
	r ^= __funnelshift_l((unsigned int)x, (unsigned int)y, (unsigned int)i);
	r += __funnelshift_rc((unsigned int)x, (unsigned int)y, (unsigned int)i % 40);
	r ^= (unsigned int)__dp4a(x, y, i) + __sad(x, y, (unsigned int)i);
	out[i] = r;
}

extern "C" __global__ void number_wide(const int *in, long long *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const long long x = (long long)in[i] << 17 ^ in[i ^ 1], y = in[i ^ 2] | 1;

	out[i] = x / y + x % y + x * y + (x >> (i & 63)) + __mul64hi(x, y << 20) + __popcll((unsigned long long)x) +
		 __clzll(x);
}

extern "C" __global__ void number_conversions(const float *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float x = in[i] * 3e9f, y = in[i] * 100;

	out[i] = (int)x ^ __float2int_rn(y) * 3 ^ __float2int_ru(y) * 5 ^ __float2int_rd(y) * 7 ^ (int)(unsigned int)y;
	out[i] += (int)(signed char)(int)y + (int)(unsigned short)(int)y + __float_as_int(y);
}

extern "C" __global__ void number_rounding(const float *in, float *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float x = in[i], y = in[i ^ 1];

	out[4 * i] = __fadd_rd(x, y) - __fadd_ru(x, y);
	out[4 * i + 1] = __fmul_rz(x, y);
	out[4 * i + 2] = __fdiv_rn(x, y);
	out[4 * i + 3] = __fsqrt_rn(x < 0 ? -x : x);
}

/* Carries from word to word: 128-bit sums, as clang makes them. */
extern "C" __global__ void number_carries(const unsigned long long *in, unsigned long long *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned __int128 x = (unsigned __int128)in[2 * i + 1] << 64 | in[2 * i];
	const unsigned __int128 sum = x + (x << 3) + ((unsigned __int128)in[2 * i] * in[2 * i + 1]);

	out[2 * i] = (unsigned long long)sum;
	out[2 * i + 1] = (unsigned long long)(sum >> 64);
}

extern "C" __global__ void number_math(const float *in, float *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float x = in[i];

	out[i] = expf(x) + sinf(x * 3) * cosf(x) + powf(fabsf(x) + 0.5f, 1.7f) + logf(fabsf(x) + 1) + floorf(x * 10) +
		 fmodf(x * 10, 3) + tanhf(x) + erff(x) + rsqrtf(x * x + 1) + __expf(x) + (float)cbrt((double)x) +
		 fmaxf(x, 0.25f) + roundf(x * 7) + atan2f(x, 2);
}

/* Remainders, some of which are zeros of both signs, and the lowest bits of quotients. */
extern "C" __global__ void number_remainders(const double *in, double *out, int *quotients)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const double x = i % 8 == 0 ? copysign(0.0, in[i]) : i % 8 == 1 ? in[i ^ 1] * 9 : in[i] * 20, y = in[i ^ 1];

	out[2 * i] = remquo(x, y, &quotients[2 * i]);
	out[2 * i + 1] = remquo((float)x, (float)y, &quotients[2 * i + 1]);
}

/* Of the largest numbers and of infinities, by all sizes of divisors from 1/64 of them on. What is no number is 7. */
extern "C" __global__ void number_large_remainders(const double *in, double *out, int *quotients)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const double x = i % 14 == 1 ? copysign(__builtin_inf(), in[i]) : in[i] * 2, y = ldexp(in[i ^ 1], -(i % 7));
	const double a = remquo(ldexp(x, 1023), ldexp(y, 1023), &quotients[2 * i]);
	const float b = remquof(ldexpf((float)x, 127), ldexpf((float)y, 127), &quotients[2 * i + 1]);

	out[2 * i] = a != a ? 7 : a;
	out[2 * i + 1] = b != b ? 7 : b;
}

/* Operations on the halves and bytes of a word. */
extern "C" __global__ void number_parts(const unsigned int *in, unsigned int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned int x = in[i], y = in[i ^ 1];

	out[10 * i] = __vadd2(x, y) ^ __vsub4(x, y);
	out[10 * i + 1] = __vaddss2(x, y) ^ __vaddus4(x, y);
	out[10 * i + 2] = __vsubss4(x, y) ^ __vsubus2(x, y);
	out[10 * i + 3] = __vabsdiffu4(x, y) ^ __vabsdiffs2(x, y);
	out[10 * i + 4] = __vmaxs4(x, y) ^ __vminu2(x, y);
	out[10 * i + 5] = __vcmpgts2(x, y) ^ __vcmpleu4(x, y);
	out[10 * i + 6] = __vsetgeu4(x, y) ^ __vsetne2(x, y & 0xffff0000);
	out[10 * i + 7] = __vsadu4(x, y) + __vsads2(x, y) * 3;
	out[10 * i + 8] = __vabsss4(x & 0x80ffff80) ^ __vneg2(y) ^ __vnegss2(x | 0x80008000);
	out[10 * i + 9] = __vavgu4(x, y) ^ __vhaddu2(x, y);
}
