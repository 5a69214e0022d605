// SPDX-License-Identifier: MIT
// kernels.cu - kernels for what is inferred of their accesses. The line before each is the verdict: for each pointer
// IN, OUT (where the launch writes all of the object), INOUT; then named or unnamed. Where the verdict is less than
// what is true, the line also says what is true: "= OUT".
#include <cooperative_groups.h>
#include <stdint.h>
#include <stdio.h>

#define KERNEL extern "C" __global__ void
#define X (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define Y (int)(blockIdx.y * blockDim.y + threadIdx.y)
#define Z (int)(blockIdx.z * blockDim.z + threadIdx.z)

// ---- Each thread an element.

// want: OUT IN named
KERNEL guarded(float *out, const float *in, int n) { int i = X; if (i < n) out[i] = in[i]; }
// want: OUT named
KERNEL early_return(float *out, int n) { int i = X; if (i >= n) return; out[i] = 1; }
// want: OUT named
KERNEL not_guarded(int *out) { out[X] = X; }
// want: OUT named
KERNEL unsigned_index(float *out, unsigned n) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 1; }
// want: OUT named
KERNEL long_index(float *out, size_t n) { size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 1; }
// want: OUT named
KERNEL at_most(float *out, int last) { int i = X; if (i <= last) out[i] = 1; }
// want: OUT named
KERNEL unsigned_guard(float *out, int n) { int i = X; if ((unsigned)i < (unsigned)n) out[i] = 1; }
// want: OUT named
KERNEL two_guards(float *out, int n, int m) { int i = X; if (i >= n) return; if (i < m) out[i] = 1; }
// want: OUT named
KERNEL bytes(char *out, int n) { int i = X; if (i < n) out[i] = 1; }
// want: OUT named
KERNEL doubles(double *out, int n) { int i = X; if (i < n) out[i] = 1; }
// want: OUT IN named
KERNEL vectors(uint4 *out, const uint4 *in, int n) { int i = X; if (i < n) out[i] = in[i]; }
// want: OUT named
KERNEL reversed(float *out, int n) { int i = X; if (i < n) out[n - 1 - i] = i; }
// want: OUT named
KERNEL shifted(float *out, int n) { int i = X; if (i < n) out[i + 1] = i; }
// want: OUT named
KERNEL shifted_back(float *out, int n) { int i = X; if (i > 0 && i < n) out[i - 1] = i; }
// want: OUT named
KERNEL one_too_few(float *out, int n) { int i = X; if (i < n - 1) out[i] = i; }
// want: OUT named
KERNEL every_second(float *out, int n) { int i = X; if (i < n) out[2 * i] = i; }
// want: OUT named
KERNEL pairs(float *out, int n) { int i = X; if (i < n) { out[2 * i] = i; out[2 * i + 1] = -i; } }
// want: OUT named
KERNEL halves(float *out, int n) { int i = X; if (i < n) { out[i] = i; out[i + n] = -i; } }
// want: OUT named
KERNEL four_each(float *out) { int i = X; for (int k = 0; k < 4; k++) out[i * 4 + k] = k; }
// want: OUT named
KERNEL far_apart(float *out) { int i = X; out[i * 1000000] = i; }
// want: OUT named
KERNEL long_base(float *out, long base, int n) { int i = X; if (i < n) out[base + i] = i; }
// want: OUT named
KERNEL volatile_store(volatile float *out, int n) { int i = X; if (i < n) out[i] = i; }
// want: OUT named
KERNEL casted(float *out, int n) { uintptr_t p = (uintptr_t)out; int i = X; if (i < n) *(float *)(p + i * sizeof(float)) = i; }
// want: OUT named
KERNEL const_cast_store(const float *out, int n) { int i = X; if (i < n) ((float *)out)[i] = i; }
struct sizes { int first, n; };
// want: OUT named
KERNEL in_structure(float *out, sizes s) { int i = X; if (i < s.n) out[s.first + i] = i; }
__device__ float factor;
// want: OUT named
KERNEL symbol_read(float *out, int n) { int i = X; if (i < n) out[i] = factor; }
// want: OUT named
KERNEL prints(int *out, int n) { int i = X; if (i < n) { if (i == 1000000) printf("%d\n", i); out[i] = i; } }
// want: OUT IN named
KERNEL chooses(float *out, const float *in, int n) { int i = X; if (i < n) out[i] = in[i] > 0 ? 1 : 2; }
// want: OUT IN named
KERNEL sums_row(float *out, const float *in, int n, int m)
{
	int i = X;
	float sum = 0;

	if (i >= n)
		return;
	for (int k = 0; k < m; k++)
		sum += in[i * m + k];
	out[i] = sum;
}
__device__ __noinline__ float square(float x) { return x * x + factor; }
// want: OUT IN named
KERNEL calls(float *out, const float *in, int n) { int i = X; if (i < n) out[i] = square(in[i]); }

// ---- Two and three dimensions.

// want: OUT named
KERNEL plane(float *out, int w, int h) { int x = X, y = Y; if (x < w && y < h) out[y * w + x] = x; }
// want: OUT named
KERNEL plane_returns(float *out, int w, int h) { int x = X, y = Y; if (x >= w || y >= h) return; out[(size_t)y * w + x] = x; }
// want: OUT named
KERNEL transposed(float *out, int w, int h) { int x = X, y = Y; if (x < w && y < h) out[x * h + y] = x; }
// want: OUT named
KERNEL volume(float *out, int w, int h, int d) { int x = X, y = Y, z = Z; if (x < w && y < h && z < d) out[(z * h + y) * w + x] = x; }
// want: OUT named
KERNEL pitched(float *out, int w, int h, int pitch) { int x = X, y = Y; if (x < w && y < h) out[y * pitch + x] = x; }
// want: OUT named
KERNEL inner(float *out, int w, int h) { int x = X, y = Y; if (x > 0 && x < w - 1 && y > 0 && y < h - 1) out[y * w + x] = x; }
// want: OUT named
KERNEL triangle(float *out, int w) { int x = X, y = Y; if (x < w && y < w && x <= y) out[y * w + x] = x; }
// want: OUT named
KERNEL grid_sized(float *out) { out[Y * (int)(gridDim.x * blockDim.x) + X] = 1; }

// ---- One thread of each block.

// want: OUT named
KERNEL leader(float *out) { if (threadIdx.x == 0) out[blockIdx.x] = 1; }
// want: OUT named
KERNEL leader_of_plane(float *out) { if (threadIdx.x == 0 && threadIdx.y == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = 1; }
// want: OUT IN named
KERNEL reduces(float *out, const float *in)
{
	__shared__ float sums[64];

	sums[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
	__syncthreads();
	for (int d = 32; d; d >>= 1) {
		if (threadIdx.x < d)
			sums[threadIdx.x] += sums[threadIdx.x + d];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = sums[0];
}
// want: OUT named
KERNEL if_there(float *out) { if (out && threadIdx.x == 0) out[blockIdx.x] = 1; }
// want: OUT named
KERNEL two_each(float *out, int n)
{
	int i = blockIdx.x * 2 * blockDim.x + threadIdx.x, j = i + blockDim.x;

	if (i < n)
		out[i] = i;
	if (j < n)
		out[j] = j;
}
// want: OUT named
KERNEL first_block(float *out) { if (blockIdx.x == 0) out[threadIdx.x] = 1; }
// want: INOUT named = OUT
KERNEL not_largest(float *out, long n) { if (n == INT64_MAX) return; out[threadIdx.x] = 1; }
// want: OUT named
KERNEL not_first(float *out) { if (threadIdx.x != 0) out[threadIdx.x] = 1; }

// ---- Loops.

// want: OUT named
KERNEL grid_stride(float *out, int n) { for (int i = X; i < n; i += blockDim.x * gridDim.x) out[i] = i; }
// want: OUT named
KERNEL long_stride(float *out, size_t n)
{
	for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
		out[i] = i;
}
// want: OUT named
KERNEL half_stride(float *out, int n) { for (int i = X; i < n; i += 2 * blockDim.x * gridDim.x) out[i] = i; }
// want: OUT named
KERNEL row_each(float *out, int m)
{
	int i = X;

#pragma unroll 1
	for (int k = 0; k < m; k++)
		out[i * m + k] = k;
}
// want: OUT named
KERNEL column_each(float *out, int m, int n)
{
	int i = X;

	if (i >= n)
		return;
#pragma unroll 1
	for (int k = 0; k < m; k++)
		out[k * n + i] = k;
}
// want: OUT named
KERNEL nested(float *out, int m, int n)
{
	int i = X;

#pragma unroll 1
	for (int k = 0; k < m; k++) {
#pragma unroll 1
		for (int l = 0; l < n; l++)
			out[(i * m + k) * n + l] = k + l;
	}
}
// want: INOUT named = OUT
KERNEL unrolled_row(float *out, int m) { int i = X; for (int k = 0; k < m; k++) out[i * m + k] = k; }
// want: OUT named
KERNEL downward(float *out, int n) { for (int i = n - 1 - X; i >= 0; i -= blockDim.x * gridDim.x) out[i] = i; }
// want: OUT named
KERNEL from_below(float *out, int first, size_t n)
{
	int i = first;

#pragma unroll 1
	do {
		if (i >= 0)
			out[i] = 7;
		i++;
	} while ((unsigned)i < n);
}
// want: INOUT named = OUT
KERNEL while_equal(float *out, int first, int n)
{
	int i = first;

#pragma unroll 1
	do {
		out[i] = 7;
		i++;
	} while (2 * i == n);
}
// want: INOUT named = OUT
KERNEL narrowed(float *out, size_t first, size_t n, unsigned step)
{
	size_t i = first;

#pragma unroll 1
	do {
		out[i] = 7;
		i = (unsigned)i + step;
	} while (i < n);
}
// want: INOUT IN named
KERNEL breaks(float *out, const float *in, int n)
{
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		if (in[i] < 0)
			break;
		out[i] = 1;
	}
}
// want: INOUT IN named
KERNEL continues(float *out, const float *in, int n)
{
#pragma unroll 1
	for (int i = X; i < n; i += 32) {
		if (in[i] < 0)
			continue;
		out[i] = 1;
	}
}

// ---- Not each thread, or not in order.

// want: INOUT IN named
KERNEL on_data(float *out, const float *in, int n) { int i = X; if (i < n && in[i] > 0) out[i] = 1; }
// want: INOUT IN named
KERNEL returns_on_data(float *out, const float *in, int n) { int i = X; if (i >= n || in[i] < 0) return; out[i] = 1; }
// want: INOUT IN named
KERNEL scattered(float *out, const int *in, int n) { int i = X; if (i < n) out[in[i] & 63] = 1; }
// want: INOUT named
KERNEL modulo(float *out, int n) { int i = X; if (i < n) out[i * 7 % n] = 1; }
// want: INOUT named
KERNEL clamped(float *out, int n) { int i = X; out[i < n ? i : n - 1] = 1; }
// want: INOUT named
KERNEL even_threads(float *out, int n) { int i = X; if (i < n && i % 2 == 0) out[i] = 1; }
// want: INOUT named
KERNEL lane_zero(float *out) { if (threadIdx.x % 32 == 0) out[X / 32] = 1; }
// want: INOUT named
KERNEL either(float *out, int n, int m) { int i = X; if (i < n || i == m) out[i] = 1; }
// want: INOUT named
KERNEL short_index(float *out, int n) { unsigned char i = X; if (i < n) out[i] = 1; }
__device__ __noinline__ void leave(int i) { if (i == 3) asm volatile("exit;"); }
// want: INOUT named
KERNEL ends_in_call(float *out, int n) { int i = X; leave(i); if (i < n) out[i] = 1; }

// ---- Read, too.

// want: INOUT named
KERNEL adds(float *out, int n) { int i = X; if (i < n) out[i] += 1; }
// want: INOUT named = OUT
KERNEL reads_own(volatile float *out, int n) { int i = X; if (i < n) { out[i] = i; out[i] = out[i] + 1; } }
// want: INOUT named
KERNEL reads_next(float *out, int n) { int i = X; if (i < n) out[i] = out[i + 1]; }
// want: INOUT named
KERNEL atomic(int *out, int n) { int i = X; if (i < n) atomicAdd(&out[i], 1); }
// want: INOUT named
KERNEL exchange(int *out, int *old, int n) { int i = X; if (i < n) atomicExch(&out[i], 1); }

// ---- Which pointer?

// want: INOUT INOUT named
KERNEL selected(float *a, float *b, int n) { float *p = n & 1 ? a : b; int i = X; if (i < n) p[i] = 1; }
// want: INOUT INOUT named
KERNEL swapped(float *a, float *b, int n)
{
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		float *p = a;

		p[X] = k;
		a = b;
		b = p;
	}
}
// want: INOUT INOUT named
KERNEL local_array(float *a, float *b, int n) { float *volatile p[2] = { a, b }; p[n & 1][X] = 1; }
// want: INOUT named
KERNEL in_shared(float *out, int n) { __shared__ float *volatile p; p = out; __syncthreads(); p[X] = 1; }
// want: INOUT named
KERNEL aligned_down(float *out) { ((float *)((uintptr_t)out & ~(uintptr_t)63))[X] = 1; }
// What the compiler does not see through.
__device__ uintptr_t number(const void *p) { uintptr_t n = (uintptr_t)p; asm volatile("" : "+l"(n)); return n; }
// want: INOUT INOUT named
KERNEL exclusive_or(float *a, float *b) { ((float *)(number(a) ^ number(b) ^ number(a)))[X] = 1; }
// want: OUT OUT named
KERNEL difference(float *a, float *b) { a[X] = 1; ((float *)(number(a) + (number(b) - number(a))))[X] = 1; }
__device__ __noinline__ void put(float *p, float x) { *p = x; }
// want: INOUT named = OUT
KERNEL stores_in_call(float *out, int n) { int i = X; if (i < n) put(&out[i], i); }
// want: INOUT INOUT named
KERNEL byte_offset(char *out, long at) { out[at] = 1; }

// want: OUT named
KERNEL keeps_address(const void **out, const void *what) { out[X] = what; }

// ---- Memory that no parameter names.

struct where { float *to; int n; };
// want: unnamed
KERNEL structure_pointer(where w) { int i = X; if (i < w.n) w.to[i] = 1; }
// want: INOUT unnamed
KERNEL pointer_to_pointer(float *const *rows, int n) { rows[blockIdx.x][threadIdx.x] = 1; }
// want: INOUT INOUT unnamed
KERNEL named_and_not(float *out, float **rows, int n) { int i = X; if (i < n) { out[i] = 1; rows[0][i] = 2; rows[1] = out; } }
// want: INOUT IN unnamed
KERNEL reads_rows(float *out, const float *const *rows, int n) { int i = X; if (i < n) out[i] = rows[i & 1][i]; }
__device__ float *place;
// want: unnamed
KERNEL symbol_pointer(int n) { int i = X; if (i < n) place[i] = 1; }
typedef void (*function)(float *, float);
__device__ function table[2] = { put, put };
// want: INOUT named
KERNEL through_table(float *out, int n, int which) { int i = X; if (i < n) table[which & 1](&out[i], i); }
// want: OUT named
KERNEL whole_grid(int *out, int n) { int i = X; if (i < n) out[i] = i; cooperative_groups::this_grid().sync(); }
