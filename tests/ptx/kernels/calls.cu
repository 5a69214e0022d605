/* SPDX-License-Identifier: MIT */
/* calls.cu - recursion, function pointers and virtual functions. */

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void call_fibonacci(int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = fibonacci(i % 12);
}

__device__ __noinline__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(int n) { return n != 0 && is_even(n - 1); }

extern "C" __global__ void call_mutual(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, n = in[i] & 63;

	out[i] = (is_even(n) ? 1 : 0) + (is_odd(n / 3) ? 2 : 0);
}

/* Sorts a part of an array in the thread's own memory. */
__device__ __noinline__ void quicksort(int *data, int first, int last)
{
	int i = first, j = last;

	if (first >= last)
		return;
	const int middle = data[(first + last) / 2];

	while (i <= j) {
		while (data[i] < middle)
			i++;
		while (data[j] > middle)
			j--;
		if (i <= j) {
			const int swap = data[i];

			data[i++] = data[j];
			data[j--] = swap;
		}
	}
	quicksort(data, first, j);
	quicksort(data, i, last);
}

extern "C" __global__ void call_quicksort(int *data)
{
	int mine[20];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = 0; k < 20; k++)
		mine[k] = data[20 * i + k];
	quicksort(mine, 0, 19);
	for (int k = 0; k < 20; k++)
		data[20 * i + k] = mine[k];
}

typedef int operation(int a, int b);

__device__ __noinline__ int sum_of(int a, int b) { return a + b; }
__device__ __noinline__ int difference_of(int a, int b) { return a - b; }
__device__ __noinline__ int product_of(int a, int b) { return a * b; }
__device__ __noinline__ int smaller_of(int a, int b) { return a < b ? a : b; }
__device__ operation *const operations[] = { sum_of, difference_of, product_of, smaller_of };

extern "C" __global__ void call_pointers(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = operations[in[i] & 3](in[i], i);
}

/* What only functions of a table use: a variable, memory that the launch adds, and memory of the device's heap. */
__constant__ int bias = 7;

__device__ __noinline__ int biased(int a) { return a + bias; }
__device__ __noinline__ int doubled(int a) { return 2 * a; }

__device__ __noinline__ int pooled(int a)
{
	extern __shared__ int pool[];

	pool[threadIdx.x] = a;
	return 3 * pool[threadIdx.x];
}

__device__ __noinline__ int heaped(int a)
{
	volatile int *p = (volatile int *)malloc(sizeof(int));
	int result;

	*p = a;
	result = *p + 1;
	free((void *)p);
	return result;
}

typedef int change(int a);

__device__ change *const changes[] = { biased, doubled, pooled, heaped };

extern "C" __global__ void call_table(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = changes[in[i] & 3](i);
}

class shape {
public:
	__device__ virtual float area(void) const = 0;
	__device__ virtual int corners(void) const { return 0; }
	__device__ virtual ~shape() { }
};

class circle : public shape {
	float radius;
public:
	__device__ explicit circle(float r) : radius(r) { }
	__device__ float area(void) const override { return 3 * radius * radius; }
};

class rectangle : public shape {
	float width, height;
public:
	__device__ rectangle(float w, float h) : width(w), height(h) { }
	__device__ float area(void) const override { return width * height; }
	__device__ int corners(void) const override { return 4; }
};

__device__ int more_corners = 5;

class star : public shape {
	int points;
public:
	__device__ explicit star(int n) : points(n) { }
	__device__ float area(void) const override { return (float)points; }
	__device__ int corners(void) const override { return points + more_corners; }
};

__device__ __noinline__ float describe(const shape &s)
{
	return s.area() * 8 + (float)s.corners();
}

extern "C" __global__ void call_virtual(float *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const circle c((float)i);
	const rectangle r((float)i, 2);
	const shape *chosen = i % 3 ? (const shape *)&r : &c;

	out[i] = describe(*chosen);
}

/* A virtual function uses a variable. */
extern "C" __global__ void call_override(float *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const star s(i);
	const rectangle r((float)i, 2);
	const shape *chosen = i % 3 ? (const shape *)&s : &r;

	out[i] = describe(*chosen);
}

/* Objects that one thread makes on the device's heap, and others use. */
extern "C" __global__ void call_new(float *out)
{
	__shared__ shape *shapes[32];
	const int t = threadIdx.x;

	if (t % 2)
		shapes[t] = new rectangle((float)t, (float)blockIdx.x);
	else
		shapes[t] = new circle((float)t);
	__syncthreads();
	out[blockIdx.x * 32 + t] = describe(*shapes[31 - t]);
	__syncthreads();
	delete shapes[t];
}

/* Memory of the device's heap that a later launch uses and frees. */
extern "C" __global__ void call_heap(int **slots, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (!slots[i]) {
		slots[i] = (int *)malloc((i % 5 + 2) * sizeof(int));
		slots[i][0] = i * 3;
		slots[i][1] = i;
	} else {
		out[i] += slots[i][0] + slots[i][1];
		free(slots[i]);
		slots[i] = nullptr;
	}
}
