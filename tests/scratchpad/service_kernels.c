/* SPDX-License-Identifier: MIT */
/* Kernels that ask the program and the device while they run: what they get, they write down. */
#include <adsm_kernel.h>

/* The words may stand in what kernels call, too. */
ADSM_FUNCTION int square(int n)
{
	int result = -1, ret = ADSM_SERVICE("square", &n, sizeof(n), &result, sizeof(result));

	return ret == sizeof(result) ? result : ret;
}

ADSM_KERNEL(squares, ADSM_INOUT(int, a), ADSM_VAL(int, rounds))
{
	ADSM_THREADS {
		for (int i = 0; i < rounds; i++)
			a[ADSM_GLOBAL_X * rounds + i] = square(ADSM_GLOBAL_X * rounds + i);
	}
}

#ifdef ADSM_SERVICES			/* strings in variables, and much memory of the block */

/* Service number @which, of names right and wrong, with sizes right and wrong: what it returns, and the sum of all. */
ADSM_KERNEL(sizes, ADSM_INOUT(int, result), ADSM_VAL(int, which), ADSM_VAL(unsigned long, in),
	    ADSM_VAL(unsigned long, out))
{
	ADSM_SHARED(unsigned char, bytes, 65536);

	ADSM_THREADS {
		const char *name = which == 0 ? "reverse" : which == 1 ? "nobody" : which == 2 ? "" : which == 3 ?
			"0123456789012345678901234567890123456789012345678901234567890123" : which == 4 ? "fails" :
			which == 5 ? "lies" : which == 6 ? "wild" : which == 7 ? "square" : 0;
		int sum = 0;

		for (int i = 0; i < 65536; i++)
			bytes[i] = (unsigned char)(i % 251);
		result[0] = ADSM_SERVICE(name, bytes, in, bytes, out);
		for (int i = 0; i < 65536; i++)
			sum += bytes[i] * (i % 7);
		result[1] = sum;
		result[2] = ADSM_SERVICE("reverse", (void *)0, in, bytes, 0);
		result[3] = ADSM_SERVICE("reverse", bytes, 0, (void *)0, out);
	}
}

ADSM_KERNEL(formats, ADSM_INOUT(int, result), ADSM_VAL(float, f), ADSM_VAL(long, l))
{
	ADSM_THREADS {
		const char *null = 0;
		char word[8] = "word";
		unsigned char byte = 200;
		short little = -2;
		unsigned long long large = 0xffffffffffffffff;

		result[0] = ADSM_PRINT("plain 100%%");
		result[1] = ADSM_PRINT("%d %i %u %5d|%-5d|%05d|%+d|% d\n", 1, -1, 4000000000u, 42, 42, 42, 42, 42);
		result[2] = ADSM_PRINT("%x %X %#x %o %#o %x\n", 255, 255, 255, 8, 8, -1);
		result[3] = ADSM_PRINT("%ld %llu %lx %zu %jd %td %hhd %hd %hu\n", l, large, l, sizeof(l), l, l, 300,
				       70000, -1);
		result[4] = ADSM_PRINT("%f %.2f %10.3e|%g %G %a\n", f, f, f, f, 1e100, 1.0);
		result[5] = ADSM_PRINT("%s %.2s %6s|%-6s|%c%c %s\n", word, word, word, "ab", 'x', 'y', null);
		result[6] = ADSM_PRINT("%p %p %d %d %u\n", (void *)0x1234, large, byte, little, byte);
		result[7] = ADSM_PRINT("%*d|%-*d|%.*f|%*s\n", 6, 42, 6, 42, 1, 2.25, -6, "left");
		result[8] = ADSM_PRINT("two\nlines");
		result[9] = ADSM_PRINT("");
		result[10] = ADSM_PRINT("%1$d", 1);
		result[11] = ADSM_PRINT("%n", (void *)&word);
		result[12] = ADSM_PRINT("%d %d\n", 1);
		result[13] = ADSM_PRINT("%d\n", 1.5);
		result[14] = ADSM_PRINT("%f\n", 1);
		result[15] = ADSM_PRINT("%s\n", 12);
		result[16] = ADSM_PRINT("%");
		result[17] = ADSM_PRINT("%5000d\n", 1);
		result[18] = ADSM_PRINT("%*d\n", 1000000000, 1);
		result[19] = ADSM_PRINT("%ls\n", word);
		result[20] = ADSM_PRINT("%q\n", 1);
		result[21] = ADSM_PRINT("%s\n", 1.5);
		result[22] = ADSM_PRINT("%*d\n", l, 1);
		result[23] = ADSM_PRINT("%4095d%4095d%4095d%4095d%4095d%4095d%4095d%4095d%4095d%4095d%4095d%4095d"
					"%4095d%4095d%4095d%4095d%4095d\n", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
					1, 1, 1);
		result[24] = ADSM_PRINT("extra\n", 1, 2, 3);
	}
}

/* A format, or a string, of @size bytes of the letter x. */
ADSM_KERNEL(long_line, ADSM_INOUT(int, result), ADSM_VAL(int, size))
{
	ADSM_SHARED(char, text, 70000);

	ADSM_THREADS {
		for (int i = 0; i < size; i++)
			text[i] = 'x';
		text[size] = '\0';
		result[0] = ADSM_PRINT(text);
		result[1] = ADSM_PRINT("%s", text);
		result[2] = ADSM_PRINT("%.10s\n", text);
	}
}

#endif

ADSM_KERNEL(lines, ADSM_INOUT(int, result), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		for (int i = 0; i < n; i++)
			result[ADSM_GLOBAL_X] += ADSM_PRINT("block %d line %d: %.*s|\n", ADSM_GLOBAL_X, i,
				i * 7 % 60, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567");
	}
}

ADSM_KERNEL(print_on, ADSM_VAL(int, n))
{
	ADSM_THREADS {
		for (int i = 0; i < n; i++) {
			ADSM_PRINT("this line is whole, number %d of block %d\n", i, ADSM_GLOBAL_X);
			if (i == 10)
				ADSM_SERVICE("go", (void *)0, 0, (void *)0, 0);
		}
	}
}

/* Each index of [0, n) once, by any thread. */
ADSM_KERNEL(loop, ADSM_INOUT(int, counts), ADSM_INOUT(int, by), ADSM_VAL(int, n), ADSM_VAL(int, chunk),
	    ADSM_VAL(unsigned, counter))
{
	ADSM_THREADS {
		for (long i; (i = ADSM_NEXT(counter, chunk)) < n;)
			for (long j = i; j < i + chunk && j < n; j++) {
				ADSM_ATOMIC_ADD(&counts[j], 1);
				ADSM_ATOMIC_ADD(&by[ADSM_BLOCK_X], 1);
			}
	}
}

/* Counters are separate, and end at the largest number there is. */
ADSM_KERNEL(counters, ADSM_INOUT(long, a))
{
	ADSM_THREADS {
		a[0] = ADSM_NEXT(0, 5);
		a[1] = ADSM_NEXT(15, 1);
		a[2] = ADSM_NEXT(0, 1);
		a[3] = ADSM_NEXT(1, 0x7fffffffffffffff);
		a[4] = ADSM_NEXT(1, 1);
		a[5] = ADSM_NEXT(1, 1);
	}
}

struct node {
	struct node ADSM_SPACE_GLOBAL *next;
	int value[20];
};

/* A list in memory of the device's; its sum. Half of the nodes are given back, and others had for them. */
ADSM_KERNEL(list, ADSM_INOUT(int, sums), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		struct node ADSM_SPACE_GLOBAL *first = 0;
		int sum = 0;

		for (int round = 0; round < 3; round++)
			for (int i = 0; i < n; i++) {
				struct node ADSM_SPACE_GLOBAL *node = ADSM_ALLOC(sizeof(*node));
				struct node ADSM_SPACE_GLOBAL *other;

				if (!node)
					continue;
				for (int k = 0; k < 20; k++)
					node->value[k] = ADSM_BLOCK_X * n + i + k;
				node->next = first;
				first = node;
				if (i % 2 && first->next) {
					other = first->next;
					first->next = other->next;
					for (int k = 0; k < 20; k++)
						other->value[k] = -1;
					ADSM_FREE(other);
				}
			}
		for (; first; first = first->next)
			for (int k = 0; k < 20; k++)
				sum += first->value[k];
		sums[ADSM_BLOCK_X] = sum;
	}
}

/* Sizes that there are, and that there are not. */
ADSM_KERNEL(rooms, ADSM_INOUT(int, result), ADSM_VAL(unsigned long, size), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		for (int i = 0; i < n; i++) {
			char ADSM_SPACE_GLOBAL *p = ADSM_ALLOC(size);

			if (!p)
				continue;
			result[0]++;
			p[0] = 1;
			p[size - 1] = 2;
			result[1] += p[0] + p[size - 1];
			result[2] |= (int)((unsigned long)p & 63);
		}
		ADSM_FREE((void *)0);
	}
}

/* Much of it, given back each time. */
ADSM_KERNEL(again, ADSM_INOUT(int, result), ADSM_VAL(unsigned long, size), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		for (int i = 0; i < n; i++) {
			char ADSM_SPACE_GLOBAL *p = ADSM_ALLOC(size);

			ADSM_ATOMIC_ADD(result, p != 0);
			ADSM_FREE(p);
		}
	}
}

/* 1: twice; 2: not its beginning; 3: of an object. */
ADSM_KERNEL(free_wrong, ADSM_INOUT(int, a), ADSM_VAL(int, how))
{
	ADSM_THREADS {
		char ADSM_SPACE_GLOBAL *p = ADSM_ALLOC(100);

		p[0] = 1;
		a[0] = p[0];
		if (how == 1)
			ADSM_FREE(p);
		if (how == 3)
			ADSM_FREE(a);
		else
			ADSM_FREE(p + (how == 2));
	}
}

/* The first block waits in a service, the other one crashes. */
ADSM_KERNEL(wait_and_crash, ADSM_PTR(int, a), ADSM_VAL(unsigned long, nowhere))
{
	ADSM_THREADS {
		const long here = 1l << 40;

		if (ADSM_BLOCK_X == 0) {
			ADSM_NEXT(0, here);
			ADSM_SERVICE("wait", (void *)0, 0, (void *)0, 0);
		} else {
			/* Then long enough that the other one is usually there. */
			while (ADSM_NEXT(0, 1) < here + 1000000)
				;
			*(volatile int *)nowhere = a != 0;
		}
	}
}

/* Until no thread serves it any more. */
ADSM_KERNEL(until_gone, ADSM_INOUT(int, result))
{
	ADSM_THREADS {
		int n = 0, ret;

		while ((ret = ADSM_SERVICE("slow", &n, sizeof(n), (void *)0, 0)) == 0)
			n++;
		result[0] = n;
		result[1] = ret;
	}
}

ADSM_KERNEL(once, ADSM_INOUT(int, a), ADSM_INOUT(int, result))
{
	ADSM_THREADS {
		a[0] = 1;
		result[0] = ADSM_SERVICE("inside", (void *)0, 0, (void *)0, 0);
	}
}

/* What has nothing to do with all this. */
ADSM_KERNEL(fill, ADSM_OUT(int, a), ADSM_VAL(int, value), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			a[ADSM_GLOBAL_X] = value;
	}
}

#ifdef ADSM_TASKS
ADSM_TASK(workers, ADSM_INOUT(int, a), ADSM_INOUT(int, total), ADSM_VAL(int, n))
{
	for (long i; (i = ADSM_NEXT(3, 2)) < n;)
		for (long j = i; j < i + 2 && j < n; j++) {
			const int result = square((int)j);

			ADSM_WRITE(&a[j], result);
			ADSM_LOCK(0);
			ADSM_WRITE(total, ADSM_READ(total) + 1);
			ADSM_UNLOCK(0);
		}
}

/* How many pieces of 1 MiB there are, and again when they have been given back; @most at most. */
ADSM_TASK(pieces, ADSM_INOUT(int, a), ADSM_VAL(int, most))
{
	for (int round = 0; round < 2; round++) {
		ADSM_SPACE_GLOBAL unsigned long *p;
		ADSM_SPACE_GLOBAL unsigned long *first = 0;
		int n = 0;

		while (n < most && (p = (ADSM_SPACE_GLOBAL unsigned long *)ADSM_TASK_ALLOC(1 << 20))) {
			ADSM_WRITE(p, (unsigned long)first);
			first = p;
			n++;
		}
		ADSM_WRITE(&a[round], n);
		for (; first; first = p) {
			p = (ADSM_SPACE_GLOBAL unsigned long *)ADSM_READ(first);
			ADSM_TASK_FREE(first);
		}
	}
}
#endif
