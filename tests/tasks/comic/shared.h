/* SPDX-License-Identifier: MIT */
/* shared.h - the variables of whole_manager.c and whole_ape.c, one of each type. */
#define COUNTERS 100

COMIC_PP_shared(
	char c[COMIC_PP_MAX_NUM_APE_THREADS];
	short s;
	int i;
	long l;
	long long ll;
	float f;
	double d;
	int turns[COUNTERS];
	long kept;
	struct { int x; int y; } pair;
)
