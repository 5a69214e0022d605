/* SPDX-License-Identifier: MIT */
/* templates.cu - kernels and classes of device code that are templates. */

template <typename T, int N>
struct polynomial {
	T factors[N];
	__device__ T operator()(T x) const
	{
		T value = factors[N - 1];

		for (int i = N - 2; i >= 0; i--)
			value = value * x + factors[i];
		return value;
	}
};

template <typename T, int N>
__global__ void template_evaluate(const T *in, T *out, polynomial<T, N> p)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = p(in[i]);
}

template __global__ void template_evaluate<int, 5>(const int *, int *, polynomial<int, 5>);

struct add { template <typename T> static __device__ T apply(T a, T b) { return a + b; } };
struct larger { template <typename T> static __device__ T apply(T a, T b) { return a < b ? b : a; } };

/* A reduction by an operation that is a parameter of the template, with a loop that is unrolled. */
template <typename Operation, typename T, int Threads>
__device__ T reduce(T *shared, T value)
{
	shared[threadIdx.x] = value;
	__syncthreads();
#pragma unroll
	for (int n = Threads / 2; n > 0; n /= 2) {
		if (threadIdx.x < n)
			shared[threadIdx.x] = Operation::apply(shared[threadIdx.x], shared[threadIdx.x + n]);
		__syncthreads();
	}
	value = shared[0];
	__syncthreads();
	return value;
}

template <int Threads>
__global__ void template_reduce(const long long *in, long long *out)
{
	__shared__ long long shared[Threads];
	const long long x = in[blockIdx.x * Threads + threadIdx.x] % 100000;
	const long long sum = reduce<add, long long, Threads>(shared, x);
	const long long most = reduce<larger, long long, Threads>(shared, x);

	if (threadIdx.x == 0) {
		out[2 * blockIdx.x] = sum;
		out[2 * blockIdx.x + 1] = most;
	}
}

template __global__ void template_reduce<64>(const long long *, long long *);
