// SPDX-License-Identifier: MIT
/*
 * scopes.c - libc's functions, looked up in libc itself: what is wrapped is handed out wrapped.
 */
#include "scratch.h"

#include <dlfcn.h>
#include <fcntl.h>

typedef ssize_t reader(int fd, void *p, size_t size);
typedef void *mover(void *dst, const void *src, size_t size);

static void *libc;

static void begin(void)
{
	set_up();
	make_file(SIZE);
	libc = dlopen("libc.so.6", RTLD_NOW);
	CHECK(libc);
}

/* All of the file comes into shared memory that only the device has. */
static void check_reader(const char *how, reader *call)
{
	now("read() by %s", how);
	CHECK(call);
	bring(INVALID);
	CHECK(!lseek(fileno(scratch), 0, SEEK_SET));
	SAME(call(fileno(scratch), shared, SIZE), SIZE);
	for (size_t i = 0; i < SIZE; i++)
		SAME(shared[i], file_byte(i));
}

static void test_looked_up(void)
{
	char *error;

	begin();
	check_reader("dlsym()", (reader *)dlsym(libc, "read"));
	/* The oldest version that each processor's has. */
	check_reader("the program's handle", (reader *)dlsym(dlopen(NULL, RTLD_NOW), "read"));
	check_reader("RTLD_DEFAULT", (reader *)dlsym(RTLD_DEFAULT, "read"));
	now("memcpy()");
	bring(INVALID);
	CHECK(((mover *)dlsym(libc, "memcpy"))(plain, shared, SIZE) == plain);
	compare(false);
	/* Libc's own functions, without wrappers; errors are reported as always. */
	CHECK(dlsym(libc, "gnu_get_libc_version") == dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	CHECK(!dlsym(libc, "no_such_function"));
	error = dlerror();
	CHECK(error && strstr(error, "no_such_function"));
	CHECK(!dlsym(libc, "adsmInit"));
	dlerror();
}

static const struct conform_case cases[] = {
	CASE("looked-up", test_looked_up),
};
CONFORM_MAIN(cases)
