/* SPDX-License-Identifier: MIT */
/* The kernels of the conformance suite. */
#include <adsm_kernel.h>

struct node {
	unsigned value;
	ADSM_SPACE_GLOBAL struct node *next;
};

struct ref {
	ADSM_SPACE_GLOBAL unsigned *data;
};

struct three {
	signed char a;
	short b;
	unsigned c;
};

/* Takes a time no compiler can guess away; returns 0. */
ADSM_FUNCTION unsigned spin(unsigned long spins)
{
	unsigned long x = spins;

	for (unsigned long i = 0; i < spins; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x == 42;
}

ADSM_KERNEL(increment, ADSM_INOUT(unsigned, a), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			a[i]++;
	}
}

ADSM_KERNEL(increment_bytes, ADSM_INOUT(unsigned char, a), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			a[i]++;
	}
}

/* Says nothing of what it does with its argument. */
ADSM_KERNEL(increment_any, ADSM_PTR(unsigned, a), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			a[i]++;
	}
}

ADSM_KERNEL(add, ADSM_IN(unsigned, a), ADSM_IN(unsigned, b), ADSM_OUT(unsigned, c), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			c[i] = a[i] + b[i];
	}
}

ADSM_KERNEL(count_up, ADSM_INOUT(unsigned, a))
{
	ADSM_THREADS {
		ADSM_ATOMIC_ADD(a, 1);
	}
}

ADSM_KERNEL(addf, ADSM_IN(float, a), ADSM_IN(float, b), ADSM_OUT(float, c), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			c[i] = a[i] + b[i];
	}
}

ADSM_KERNEL(copy, ADSM_IN(unsigned, from), ADSM_OUT(unsigned, to), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			to[i] = from[i];
	}
}

/* Reads its input at the very end. */
ADSM_KERNEL(late_copy, ADSM_VAL(unsigned long, spins), ADSM_IN(unsigned, from), ADSM_OUT(unsigned, to),
	    ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X != 0)
			continue;
		unsigned zero = spin(spins);

		for (unsigned i = 0; i < n; i++)
			to[i] = from[i] + zero;
	}
}

ADSM_KERNEL(late_increment, ADSM_VAL(unsigned long, spins), ADSM_INOUT(unsigned, a), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X != 0)
			continue;
		unsigned zero = spin(spins);

		for (unsigned i = 0; i < n; i++)
			a[i] += 1 + zero;
	}
}

ADSM_KERNEL(append, ADSM_INOUT(unsigned, list), ADSM_VAL(unsigned, value))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X != 0)
			continue;
		list[0]++;
		list[list[0]] = value;
	}
}

/* Adds the pair of @value and the length of @seen to two lists. Each list begins with its length. */
ADSM_KERNEL(link, ADSM_VAL(unsigned long, spins), ADSM_INOUT(unsigned, a), ADSM_INOUT(unsigned, b),
	    ADSM_IN(unsigned, seen), ADSM_VAL(unsigned, value))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X != 0)
			continue;
		unsigned n_a = a[0] + spin(spins), n_b = b[0], n = seen[0];

		a[2 * n_a + 1] = b[2 * n_b + 1] = value;
		a[2 * n_a + 2] = b[2 * n_b + 2] = n;
		a[0] = n_a + 1;
		b[0] = n_b + 1;
	}
}

/* Adds 1 to each value of a list and puts a node in front of it. */
ADSM_KERNEL(walk, ADSM_INOUT(struct node, first), ADSM_INOUT(struct node, spare))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X != 0)
			continue;
		for (ADSM_SPACE_GLOBAL struct node *node = first; node; node = node->next)
			node->value++;
		spare->value = 1000000;
		spare->next = first;
	}
}

ADSM_KERNEL(through, ADSM_IN(struct ref, ref), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			ref->data[i]++;
	}
}

ADSM_KERNEL(through_any, ADSM_PTR(struct ref, ref), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			ref->data[i]++;
	}
}

ADSM_KERNEL(from_const, ADSM_OUT(unsigned char, to), ADSM_CONST(unsigned char, table), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			to[i] = table[i];
	}
}

ADSM_KERNEL(late_const, ADSM_VAL(unsigned long, spins), ADSM_OUT(unsigned, to), ADSM_CONST(unsigned, table))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X == 0) {
			unsigned zero = spin(spins);

			*to = table[0] + zero;
		}
	}
}

ADSM_KERNEL(values, ADSM_OUT(long, out), ADSM_OUT(float, fraction), ADSM_VAL(signed char, c), ADSM_VAL(long, l),
	    ADSM_VAL(float, f), ADSM_VAL(struct three, t))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X != 0)
			continue;
		*fraction = f;
		out[0] = c;
		out[1] = l;
		out[2] = t.a;
		out[3] = t.b;
		out[4] = t.c;
	}
}

/* Multiplied and added in one, without rounding in between, these would not be 0. */
ADSM_KERNEL(unfused, ADSM_OUT(float, out), ADSM_VAL(float, x), ADSM_VAL(float, square))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X != 0)
			continue;
		out[0] = x * x - square;
		out[1] = square - x * x;
	}
}

ADSM_KERNEL(is_null, ADSM_IN(unsigned, p), ADSM_OUT(unsigned, out))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X == 0)
			out[0] = !p;
	}
}

/* The thread and the block that wrote a word, in three dimensions. */
ADSM_KERNEL(places, ADSM_OUT(unsigned, out))
{
	ADSM_THREADS {
		unsigned w = ADSM_GRID_DIM_X * ADSM_BLOCK_DIM_X, h = ADSM_GRID_DIM_Y * ADSM_BLOCK_DIM_Y;

		out[((unsigned)ADSM_GLOBAL_Z * h + ADSM_GLOBAL_Y) * w + ADSM_GLOBAL_X] =
			ADSM_BLOCK_X | ADSM_BLOCK_Y << 4 | ADSM_BLOCK_Z << 8 |
			ADSM_THREAD_X << 12 | ADSM_THREAD_Y << 16 | ADSM_THREAD_Z << 20;
	}
}

ADSM_KERNEL_MAX(narrow, 64, ADSM_INOUT(unsigned, a))
{
	ADSM_THREADS {
		a[ADSM_GLOBAL_X]++;
	}
}

ADSM_KERNEL(crash, ADSM_INOUT(unsigned, a))
{
	ADSM_THREADS {
		volatile ADSM_SPACE_GLOBAL unsigned *nowhere = (volatile ADSM_SPACE_GLOBAL unsigned *)8;

		a[0]++;
		*nowhere = 1;
	}
}

ADSM_KERNEL(divide, ADSM_INOUT(unsigned, a), ADSM_VAL(unsigned, by))
{
	ADSM_THREADS {
		a[ADSM_GLOBAL_X] /= by;
	}
}
