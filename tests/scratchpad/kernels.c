/* SPDX-License-Identifier: MIT */
/* Kernels with a known use of a core, or a known error. */
#include <adsm_kernel.h>

ADSM_KERNEL(scale, ADSM_IN(float, a), ADSM_OUT(float, b), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			b[i] = a[i] * 3;
	}
}

/* Two blocks write each other's neighbours. */
ADSM_KERNEL(every_other, ADSM_INOUT(unsigned char, bytes), ADSM_VAL(unsigned, n), ADSM_VAL(unsigned, round))
{
	ADSM_THREADS {
		for (unsigned i = ADSM_BLOCK_X; i < n; i += 2)
			bytes[i] = (unsigned char)(round * 7 + i);
	}
}

ADSM_KERNEL(raw, ADSM_INOUT(float, a), ADSM_VAL(unsigned long, address))
{
	ADSM_THREADS {
		a[0] = *(const volatile float *)address;
	}
}

ADSM_KERNEL(raw_store, ADSM_INOUT(float, a), ADSM_VAL(unsigned long, address))
{
	ADSM_THREADS {
		a[0] = 1;
		*(volatile float *)address = 1;
	}
}

ADSM_KERNEL(far, ADSM_INOUT(float, a), ADSM_VAL(unsigned long, address))
{
	ADSM_THREADS {
		a[0] = *(const ADSM_SPACE_GLOBAL float *)address;
	}
}

ADSM_KERNEL(unaligned, ADSM_INOUT(float, a), ADSM_VAL(unsigned long, address))
{
	ADSM_THREADS {
		a[0] = (float)ADSM_ATOMIC_ADD((ADSM_SPACE_GLOBAL int *)address, 1);
	}
}

static __attribute__((noinline)) unsigned sink(volatile unsigned char *bytes, unsigned depth)
{
	volatile unsigned char own[1000];

	own[depth % 1000] = bytes[0];
	return depth ? sink(own, depth - 1) + own[depth % 1000] : own[0];
}

ADSM_KERNEL(deep, ADSM_INOUT(unsigned, a), ADSM_VAL(unsigned, depth))
{
	ADSM_THREADS {
		volatile unsigned char one = 1;

		a[0] = sink(&one, depth);
	}
}

ADSM_KERNEL_MAX(large, 64, ADSM_INOUT(unsigned, a), ADSM_VAL(unsigned, n))
{
	ADSM_SHARED(unsigned, words, 50000);

	ADSM_THREADS {
		for (unsigned i = ADSM_THREAD_X; i < n; i += 64)
			words[i] = a[i % 16] + i;
	}
	ADSM_THREADS {
		if (ADSM_THREAD_X == 0)
			a[0] = words[n - 1];
	}
}

ADSM_TABLE(int, primes, 8) = { 2, 3, 5, 7, 11, 13, 17, 19 };

struct odd { unsigned char a; unsigned b[5]; unsigned short c; };

/* What is not a plain word: a table, constants, structures as they are, bytes by their kind, atomics of all kinds. */
ADSM_KERNEL(kinds, ADSM_INOUT(struct odd, odd), ADSM_CONST(struct odd, with), ADSM_INOUT(int, counts), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i >= n)
			continue;
		odd[n + i] = odd[i];
		odd[i] = with[i % 2];
		odd[i].c += (unsigned short)primes[i % 8];
		ADSM_ATOMIC_ADD(counts, 3);
		ADSM_ATOMIC_MAX(counts + 1, i);
		ADSM_ATOMIC_MIN(counts + 2, -i);
		ADSM_ATOMIC_OR(counts + 3, 1 << i % 16);
		ADSM_ATOMIC_CAS(counts + 4, i == 5 ? 0 : -1, 55);
	}
}

/* Variables of the module, which all cores share, also in later calls. */
ADSM_PER_NODE static int calls;
ADSM_PER_NODE static struct { unsigned char a; unsigned sums[40]; } kept = { 1, { [3] = 7 } };

ADSM_KERNEL(count, ADSM_VAL(unsigned, add))
{
	static ADSM_PER_NODE unsigned char last[3] = { 5, 6, 7 };

	ADSM_THREADS {
		ADSM_ATOMIC_ADD(&calls, 1);
		if (ADSM_BLOCK_X)
			continue;
		kept.sums[3] += add;
		kept.a++;
		for (unsigned i = 0; i < 3; i++)
			kept.sums[i] += last[i]++;
	}
}

ADSM_KERNEL(recall, ADSM_OUT(unsigned, out))
{
	ADSM_THREADS {
		out[0] = (unsigned)calls;
		out[1] = kept.a;
		for (unsigned i = 0; i < 4; i++)
			out[2 + i] = kept.sums[i];
	}
}
