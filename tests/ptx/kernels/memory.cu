/* SPDX-License-Identifier: MIT */
/* memory.cu - constant memory, variables of the device, arrays of threads, structures as parameters. */

__constant__ int primes[8] = { 2, 3, 5, 7, 11, 13, 17, 19 };
__device__ int calls = 5;
__device__ int table[4][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
__device__ const char text[] = "constant text";
/* Initialised with the address of another variable. */
__device__ int *const last_row = table[2];

extern "C" __global__ void memory_constant(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = in[i] * primes[in[i] & 7] + primes[3];
}

/* The variable keeps its value from one launch to the next. */
extern "C" __global__ void memory_variable(int *out)
{
	out[threadIdx.x] = calls + table[threadIdx.x % 4][threadIdx.x % 3] + text[threadIdx.x % 13] + last_row[1];
	__syncthreads();
	if (threadIdx.x == 0)
		calls += 2;
}

/* An array whose index only the running thread knows. */
extern "C" __global__ void memory_local(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	int stack[16], n = 0;

	for (int k = 0; k < 16; k++)
		stack[k] = k * i;
	for (int k = 0; k < 24; k++) {
		const int command = in[i] >> k & 7;

		if (command & 1)
			stack[(command + k) & 15] += stack[n];
		else
			n = (n + command + stack[k & 15]) & 15;
	}
	out[i] = stack[n] * 31 + stack[(n + 5) & 15];
}

struct parameters {
	char kind;
	short scale;
	int offsets[3];
	double factor;
};

extern "C" __global__ void memory_struct(struct parameters p, const int *in, int *out, int4 v, char last)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = p.kind + p.scale * in[i] + p.offsets[i % 3] + (int)(p.factor * 4) + v.x - v.w * last;
}

union word {
	unsigned int bits;
	unsigned char bytes[4];
	float value;
};

extern "C" __global__ void memory_vectors(const float4 *in, float4 *out, uchar4 *bytes)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float4 v = in[i];
	union word w;

	out[i] = make_float4(v.w, v.z * 2, v.y - v.x, v.x);
	w.value = v.x;
	bytes[i] = make_uchar4(w.bytes[3], w.bytes[2], w.bytes[1], (unsigned char)(w.bits >> 4));
}

/* Accesses of one, two and eight bytes at places that are no multiples of four. */
extern "C" __global__ void memory_bytes(const unsigned char *in, short *shorts, unsigned long long *words)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long word = 0;

	for (int k = 0; k < 8; k++)
		word |= (unsigned long long)in[i + k] << 8 * k;
	words[i] = word;
	shorts[i] = (short)((signed char)in[i] * in[i + 1] - (short)(in[i + 2] << 8));
}

/* Local memory with a large alignment: clang sets the low bits of its addresses where it adds. */
struct alignas(64) aligned {
	int v[16];
};

__device__ __noinline__ void set_four(int *to, int value)
{
	for (int i = 0; i < 4; i++)
		to[i] = value + i;
}

__device__ __noinline__ int get_one(const struct aligned *from, int i)
{
	return from->v[i];
}

extern "C" __global__ void memory_aligned(const int *in, int *out)
{
	struct aligned a;
	int others[5];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	set_four(others, in[i]);
	for (int k = 0; k < 4; k++)
		set_four(a.v + 4 * k, in[i] * k);
	out[i] = get_one(&a, i & 15) + others[i & 3];
}

struct numbers {
	int v[64];
};

/* Much memory of its own, which may be where others' memory was. */
__device__ __noinline__ int mix(const int *in, int n)
{
	int a[128], result = 0;

	for (int k = 0; k < 128; k++)
		a[(k * 5 + in[k]) & 127] = k + n;
	for (int k = 0; k < 128; k++)
		result += a[(k + in[k]) & 127];
	return result;
}

/* A thread keeps the address of a part of a parameter while it waits. */
extern "C" __global__ void memory_address(struct numbers n, const int *in, int *out)
{
	__shared__ int first[256];
	const int i = threadIdx.x;
	const int *const at = n.v + (in[i] & 31);
	int mixed;

	first[i] = at[0];
	__syncthreads();
	mixed = mix(in, i);
	out[i] = first[255 - i] * 100 + at[1];
	if (mixed == 123456789)
		out[i] = mixed;
}
