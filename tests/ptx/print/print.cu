/* SPDX-License-Identifier: MIT */
/* print.cu - kernels that print to the program's standard output, and one whose assertion fails. */

/* Each kind of conversion, and the values of printf(). */
extern "C" __global__ void formats(int *results)
{
	const char *const none = nullptr;

	*results++ = printf("no argument, 100%%\n");
	*results++ = printf("%d %i %u %x %X %o %c\n", -1, 2, 3u, 0xabc, 0xabcu, 8, 'c');
	*results++ = printf("|%5d|%-5d|%05d|%+d|%*d|%.*f|\n", 42, 42, 42, 42, 6, 42, 2, 3.14159);
	*results++ = printf("%ld %lld %lu %zu %hd %hhd\n", -5l, 1ll << 40, 5ul, sizeof(int), (short)-7, (signed char)-8);
	*results++ = printf("%f %e %g %a\n", 1.5f, 2.5, 1e100, 1.0);
	*results++ = printf("%s|%10s|%-10s|%.2s|%s\n", "string", "right", "left", "cut", none);
	*results++ = printf("%p %p\n", (void *)0x1234, (void *)~0ull);
	*results++ = printf("one piece, ");
	*results++ = printf("and another one\n");
	*results++ = printf(none);
	*results++ = printf("%ls\n", L"wide");
}

extern "C" __global__ void hello(int number, int *out)
{
	printf("kernel %d\n", number);
	*out = number;
}

extern "C" __global__ void lines(int n, int mark)
{
	for (int i = 0; i < n; i++)
		printf("%c block %d thread %d line %d of %d, which is whole\n", mark, (int)blockIdx.x, (int)threadIdx.x, i, n);
}

extern "C" __global__ void fails(const int *in)
{
	const int i = in[blockIdx.x * blockDim.x + threadIdx.x];

	if (i == 7)
		printf("element %d will fail\n", i);
	assert(i != 7);
}
