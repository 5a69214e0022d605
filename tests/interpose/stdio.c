/* SPDX-License-Identifier: MIT */
/* stdio.c - streams and asynchronous input and output, each held against the same call on ordinary memory. */
#include "../sanitizers.h"
#include "conform.h"
#include "pair.h"

#include <aio.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#undef fread_unlocked
#undef fwrite_unlocked

size_t __fread_chk(void *p, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *p, size_t room, size_t size, size_t n, FILE *stream);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned *other;			/* an object nobody reads or writes but kernels */

static void set_up(void)
{
	start();
	other = words(1000, 0);
}

enum state { DIRTY, READ_ONLY, INVALID };
static const char *const state_names[] = { "Dirty", "ReadOnly", "Invalid" };

static void run_kernel(void)
{
	for (int i = 0; i < 2; i++)
		CALL("increment_bytes", size_of_one, adsmPtr(shared + (size_t)i * size_of_one),
		     adsmVal((unsigned)size_of_one));
	SETTLE();
}

/* A call that may use every object: none stays open. */
static void close_all(void)
{
	CALL("increment_any", 1000, adsmPtr(other), adsmVal(1000u));
	SETTLE();
}

static size_t string_end = SIZE_MAX;

/* Text with a line end here and there. */
static unsigned char text(size_t i)
{
	if (i == string_end)
		return 0;
	return i % 83 == 82 ? '\n' : (unsigned char)('!' + i * 31 % 90);
}

static void bring(enum state state)
{
	for (size_t i = 0; i < SIZE; i++) {
		plain[i] = text(i);
		shared[i] = (unsigned char)(text(i) - (state != DIRTY));
	}
	if (state != DIRTY)
		run_kernel();
	for (size_t i = 0; i < SIZE && state == READ_ONLY; i += PAGE)
		(void)*(volatile unsigned char *)(shared + i);
}

/* Every byte is what it is in ordinary memory; after a kernel, one more: so the device had them too. */
static void compare(bool after_kernel)
{
	if (after_kernel)
		run_kernel();
	for (size_t i = 0; i < SIZE; i++)
		if (shared[i] != (unsigned char)(plain[i] + after_kernel))
			FAIL("%s: byte %zu of %zu is %d, not %d%s", doing, i, SIZE, shared[i],
			     (unsigned char)(plain[i] + after_kernel), after_kernel ? ", after a kernel" : "");
}

/* How much, from some offset: the last row ends in the second object. */
static size_t row_size(int row, size_t offset)
{
	const size_t sizes[] = { 0, 1, 100, block - 1, block, block + 1, size_of_one - offset, SIZE - offset - 7 };

	return row < (int)COUNT(sizes) ? sizes[row] : SIZE_MAX;
}

#define FOR_ROWS(row, offset) for (int row = 0; row_size(row, offset) != SIZE_MAX; row++)
#define FOR_STATES(state) for (enum state state = DIRTY; state <= INVALID; state++)

/* ---- files */

static const struct buffering {
	const char *name;
	int mode;
	size_t size;
} bufferings[] = {
	{ "full", _IOFBF, 0 }, { "line", _IOLBF, 0 }, { "no", _IONBF, 0 }, { "a large", _IOFBF, (size_t)2 << 20 },
	{ "a tiny", _IOFBF, 64 },
};

#define FOR_BUFFERINGS(b) for (const struct buffering *b = bufferings; b < bufferings + COUNT(bufferings); b++)

static FILE *scratch;

static FILE *open_scratch(const char *mode, const struct buffering *b)
{
	static char buffer[(size_t)2 << 20];
	char path[64];
	FILE *file;

	if (!scratch)
		scratch = tmpfile();
	CHECK(scratch);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(scratch));
	file = fopen(path, mode);
	CHECK(file);
	if (b && (b->mode != _IOFBF || b->size))
		CHECK(!setvbuf(file, b->size ? buffer : NULL, b->mode, b->size));
	return file;
}

static unsigned char file_byte(size_t i)
{
	return (unsigned char)(i * 13 + i / 256);
}

static void make_file(size_t size)
{
	FILE *file = open_scratch("w", NULL);

	for (size_t i = 0; i < size; i++)
		CHECK(putc(file_byte(i), file) != EOF);
	CHECK(!fclose(file));
}

/* What a call has done to its stream. */
struct outcome {
	long long result;
	int error, eof, failed, next;
	long at;
};

static struct outcome outcome(long long result, FILE *file)
{
	struct outcome o = { .result = result, .error = errno };

	o.eof = feof(file);
	o.failed = ferror(file);
	o.at = ftell(file);
	return o;
}

#define SAME_OUTCOME(got, want) do { \
	SAME((got).result, (want).result); \
	SAME((got).error, (want).error); \
	SAME((got).eof, (want).eof); \
	SAME((got).failed, (want).failed); \
	SAME((got).at, (want).at); \
	SAME((got).next, (want).next); \
} while (0)

/* ---- fread */

static size_t read_checked(void *p, size_t size, size_t n, FILE *file)
{
	return __fread_chk(p, size * n, size, n, file);
}

static size_t read_unlocked_checked(void *p, size_t size, size_t n, FILE *file)
{
	return __fread_unlocked_chk(p, size * n, size, n, file);
}

static const struct reader {
	const char *name;
	size_t (*read)(void *p, size_t size, size_t n, FILE *file);
} readers[] = {
	{ "fread", fread }, { "fread_unlocked", fread_unlocked }, { "__fread_chk", read_checked },
	{ "__fread_unlocked_chk", read_unlocked_checked },
};

static struct outcome read_once(const struct reader *r, const struct buffering *b, unsigned char *p, size_t size,
				size_t n, size_t begun)
{
	FILE *file = open_scratch("r", b);
	struct outcome o;

	for (size_t i = 0; i < begun; i++)
		CHECK_EQ(getc(file), file_byte(i));
	errno = 0;
	o = outcome((long long)r->read(p, size, n, file), file);
	o.next = getc(file);
	CHECK(!fclose(file));
	return o;
}

static void fread_rows(void)
{
	size_t offset = 5;
	unsigned k = 0;

	set_up();
	for (int is_short = 0; is_short < 2; is_short++) {
		make_file(is_short ? block + block / 2 : SIZE);
		for (const struct reader *r = readers; r < readers + (is_short ? 1 : COUNT(readers)); r++)
			FOR_BUFFERINGS(b) FOR_STATES(state) FOR_ROWS(row, offset) {
				size_t size = k % 3 ? 1 : 3, n = row_size(row, offset) / size;
				struct outcome got, want;
				/* There is no buffer yet, or it is almost full, or empty again. */
				static const size_t before[] = { 0, 1, 4096 };
				size_t begun = before[(k / 8 + k / 24 + k) % 3];

				k++;
				now("%s(%zu, %zu) at %zu, %s buffer, %s, %s file", r->name, size, n, begun, b->name,
				    state_names[state], is_short ? "short" : "long");
				bring(state);
				want = read_once(r, b, plain + offset, size, n, begun);
				got = read_once(r, b, shared + offset, size, n, begun);
				SAME_OUTCOME(got, want);
				compare(k % 5 < 3);
			}
	}
}

/* Once more at the end, and on: flags and results stay libc's. */
static void fread_eof(void)
{
	static const size_t sizes[] = { 1000, 1000, 0, 1, 2000 };

	set_up();
	for (const struct reader *r = readers; r < readers + COUNT(readers); r++)
		FOR_BUFFERINGS(b) FOR_STATES(state) for (size_t first = 0; first < 2; first++) {
			FILE *files[2];

			now("%s at the end, %s buffer, %s", r->name, b->name, state_names[state]);
			make_file(first ? 1000 : 0);
			bring(state);
			for (int i = 0; i < 2; i++)
				files[i] = open_scratch("r", i ? &bufferings[2] : b);
			for (size_t i = 0; i < COUNT(sizes); i++) {
				struct outcome got, want;

				errno = 0;
				want = outcome((long long)r->read(plain + 10, 1, sizes[i], files[1]), files[1]);
				errno = 0;
				got = outcome((long long)r->read(shared + 10, 1, sizes[i], files[0]), files[0]);
				SAME_OUTCOME(got, want);
				if (i != 3)
					continue;
				make_file(1500);
				clearerr(files[0]);
				clearerr(files[1]);
			}
			compare(first);
			fclose(files[0]);
			fclose(files[1]);
		}
}

/* A part of an item has come as well, though no result says so. */
static void fread_partial_item(void)
{
	set_up();
	for (const struct reader *r = readers; r < readers + COUNT(readers); r++)
		FOR_BUFFERINGS(b) FOR_STATES(state) for (size_t item = 1000; item < SIZE / 3; item *= 7) {
			struct outcome got, want;

			now("%s of items of %zu, %s buffer, %s", r->name, item, b->name, state_names[state]);
			make_file(2 * item + item / 2);
			bring(state);
			want = read_once(r, b, plain + 9, item, 3, 0);
			got = read_once(r, b, shared + 9, item, 3, 0);
			CHECK_EQ(want.result, 2);
			SAME_OUTCOME(got, want);
			compare(item != 1000);
		}
}

/* No file and no memory has so much: libc's answer is as good as it is. */
static void fread_overflow(void)
{
	struct outcome got, want;

	set_up();
	make_file(100);
	bring(INVALID);
	now("fread of more than there can be");
	want = read_once(readers, bufferings, plain, SIZE_MAX / 2 + 1, 2, 0);
	got = read_once(readers, bufferings, shared, SIZE_MAX / 2 + 1, 2, 0);
	SAME_OUTCOME(got, want);
	compare(true);
}

static void leave(int signal)
{
	_exit(0);
}

static void fread_checked(void)
{
	set_up();
	make_file(SIZE);
	bring(INVALID);
	CHECK(signal(SIGABRT, leave) != SIG_ERR);
	if (__fread_chk(shared, 2 * block - 1, 2, block, open_scratch("r", NULL)))
		FAIL("__fread_chk reads more than there is room for");
	FAIL("__fread_chk only returns for more than there is room for");
}

/* A kernel call may close every object while a thread waits in fread(). */

struct pipe_user {
	FILE *file;
	size_t size;
	_Atomic pid_t tid;
	size_t result;
	bool line;
	const struct writer *writer;
	int fd;
};

static void *read_pipe(void *arg)
{
	struct pipe_user *r = arg;

	atomic_store(&r->tid, (pid_t)syscall(SYS_gettid));
	if (r->line)
		r->result = fgets((char *)shared + 3, (int)r->size, r->file) == (char *)shared + 3;
	else
		r->result = fread(shared + 3, 1, r->size, r->file);
	return NULL;
}

static void await_asleep(_Atomic pid_t *tid)
{
	while (!atomic_load(tid) || !asleep(atomic_load(tid)))
		sched_yield();
}

static FILE *open_pipe(int *ret_writer, const struct buffering *b)
{
	int ends[2];
	FILE *file;

	CHECK(!pipe(ends));
	file = fdopen(ends[0], "r");
	CHECK(file);
	if (b->mode != _IOFBF)
		CHECK(!setvbuf(file, NULL, b->mode, 0));
	*ret_writer = ends[1];
	return file;
}

static void pipe_fread(void)
{
	set_up();
	for (const struct buffering *b = bufferings; b < bufferings + 3; b++) FOR_STATES(state) {
		struct pipe_user r = { .size = 2 * block + 100 };
		size_t done = 0, total = 2 * block;
		pthread_t thread;
		int writer;

		now("fread from a pipe, %s buffer, %s", b->name, state_names[state]);
		bring(state);
		r.file = open_pipe(&writer, b);
		CHECK(!pthread_create(&thread, NULL, read_pipe, &r));
		for (int i = 0; i < 4; i++) {
			size_t piece = i < 3 ? 1000 : total - done;

			await_asleep(&r.tid);
			close_all();
			for (size_t j = 0; j < piece; j++)
				plain[3 + done + j] = file_byte(done + j);
			for (size_t at = 0; at < piece;) {
				ssize_t n = write(writer, plain + 3 + done + at, piece - at);

				CHECK(n > 0);
				at += (size_t)n;
			}
			done += piece;
		}
		close(writer);
		CHECK(!pthread_join(thread, NULL));
		SAME(r.result, total);
		SAME(feof(r.file), 1);
		SAME(ferror(r.file), 0);
		compare(state != READ_ONLY);
		fclose(r.file);
	}
}

/* The stream is nobody's afterwards, and what came before counts no more than libc says: nothing. */
static void fread_cancelled(void)
{
	set_up();
	for (const struct buffering *b = bufferings; b < bufferings + 3; b++) {
		struct pipe_user r = { .size = 2 * block };
		pthread_t thread;
		void *end;
		int writer;

		now("a cancelled fread, %s buffer", b->name);
		bring(INVALID);
		r.file = open_pipe(&writer, b);
		CHECK(!pthread_create(&thread, NULL, read_pipe, &r));
		await_asleep(&r.tid);
		CHECK(!pthread_cancel(thread));
		CHECK(!pthread_join(thread, &end));
		CHECK(end == PTHREAD_CANCELED);
		CHECK(!ftrylockfile(r.file));
		funlockfile(r.file);
		compare(true);
		CHECK_EQ(write(writer, "and on", 6), 6);
		close(writer);
		CHECK_EQ(fread(shared, 1, 100, r.file), 6);
		CHECK(!memcmp(shared, "and on", 6));
		fclose(r.file);
	}
}

/* ---- fwrite, fputs, puts */

static int result_of_puts(const char *s, FILE *file)
{
	return puts(s);
}

static const struct writer {
	const char *name;
	size_t (*write)(const void *p, size_t size, size_t n, FILE *file);
	int (*put)(const char *s, FILE *file);
} writers[] = {
	{ "fwrite", fwrite, NULL }, { "fwrite_unlocked", fwrite_unlocked, NULL }, { "fputs", NULL, fputs },
	{ "fputs_unlocked", NULL, fputs_unlocked }, { "puts", NULL, result_of_puts },
};

static struct outcome write_once(const struct writer *w, const struct buffering *b, const unsigned char *p, size_t size,
				 size_t n, bool begun, unsigned char *ret_file)
{
	FILE *file = open_scratch("w", b), *check, *before = stdout;
	struct outcome o;

	if (begun)
		fputs("begun", file);
	if (w->put == result_of_puts)
		stdout = file;
	errno = 0;
	o = outcome(w->put ? w->put((const char *)p, file) : (long long)w->write(p, size, n, file), file);
	stdout = before;
	CHECK(putc('.', file) != EOF);
	CHECK(!fclose(file));
	check = open_scratch("r", NULL);
	o.next = (int)fread(ret_file, 1, SIZE + 100, check);
	fclose(check);
	return o;
}

static void write_rows(const struct writer *first, const struct writer *end)
{
	size_t offset = 5;
	unsigned k = 0;

	set_up();
	unsigned char *got_file = malloc(SIZE + 100), *want_file = malloc(SIZE + 100);

	CHECK(got_file && want_file);
	for (const struct writer *w = first; w < end; w++)
		FOR_BUFFERINGS(b) FOR_STATES(state) FOR_ROWS(row, offset) {
			size_t size = k % 3 ? 1 : 3, n = row_size(row, offset) / size;
			struct outcome got, want;
			bool begun = k++ % 2;

			now("%s(%zu, %zu), %s buffer, %s", w->name, size, n, b->name, state_names[state]);
			if (w->put)
				string_end = offset + row_size(row, offset);
			bring(state);
			want = write_once(w, b, plain + offset, size, n, begun, want_file);
			got = write_once(w, b, shared + offset, size, n, begun, got_file);
			SAME_OUTCOME(got, want);
			if (memcmp(got_file, want_file, (size_t)want.next))
				FAIL("%s: the files differ", doing);
			compare(k % 5 < 3);
		}
	free(got_file);
	free(want_file);
}

static void fwrite_rows(void)
{
	write_rows(writers, writers + 2);
}

/* What a tiny buffer has room for goes there; the rest libc writes straight from the next block. */
static void fwrite_tiny_buffer(void)
{
	FILE *file;

	set("fault_ahead", "0");
	set_up();
	bring(INVALID);
	file = open_scratch("w", &bufferings[4]);
	for (int i = 0; i < 40; i++)
		CHECK(putc('.', file) != EOF);
	CHECK_EQ(fwrite(shared + block - 24, 1, 60, file), 60);
	CHECK(!fclose(file));
	compare(true);
}

static void fputs_rows(void)
{
	write_rows(writers + 2, writers + 4);
}

static void puts_rows(void)
{
	write_rows(writers + 4, writers + 5);
}

/* A stream nobody can write to. */
static void fwrite_full(void)
{
	set_up();
	FOR_BUFFERINGS(b) for (const struct writer *w = writers; w < writers + 4; w++) {
		struct outcome results[2];

		now("%s to a full device, %s buffer", w->name, b->name);
		string_end = 2 * block;
		bring(INVALID);
		for (int i = 0; i < 2; i++) {
			unsigned char *p = i ? shared : plain;
			FILE *file = fopen("/dev/full", "w");

			CHECK(file);
			if (b->mode != _IOFBF)
				CHECK(!setvbuf(file, NULL, b->mode, 0));
			errno = 0;
			results[i] = outcome(w->put ? w->put((char *)p, file) :
					     (long long)w->write(p, 10, block / 10, file), file);
			fclose(file);
		}
		SAME_OUTCOME(results[1], results[0]);
		compare(true);
	}
}

/* Kernel calls close every object while the system waits to read one. */
static void *fill_pipe(void *arg)
{
	struct pipe_user *r = arg;
	const struct writer *w = r->writer;
	FILE *file = fdopen(r->fd, "w");

	CHECK(file);
	atomic_store(&r->tid, (pid_t)syscall(SYS_gettid));
	if (w->put)
		CHECK(w->put((char *)shared, file) >= 0);
	else
		CHECK_EQ(w->write(shared, 1, SIZE - 1, file), SIZE - 1);
	CHECK(!fclose(file));
	return NULL;
}

static void pipe_fwrite(void)
{
	unsigned char got[1000];

	set_up();
	string_end = SIZE - 1;
	for (const struct writer *w = writers; w < writers + 4; w++) FOR_STATES(state) {
		struct pipe_user r = { .writer = w };
		pthread_t thread;
		int ends[2];
		ssize_t n;

		now("%s to a pipe, %s", w->name, state_names[state]);
		bring(state);
		CHECK(!pipe(ends));
		CHECK(fcntl(ends[0], F_SETPIPE_SZ, 4096) >= 0);
		r.fd = ends[1];
		CHECK(!pthread_create(&thread, NULL, fill_pipe, &r));
		await_asleep(&r.tid);
		close_all();
		for (size_t at = 0; at < SIZE - 1; at += (size_t)n) {
			n = read(ends[0], got, sizeof(got));
			SAME(n > 0, 1);
			SAME(memcmp(got, plain + at, (size_t)n), 0);
		}
		CHECK(!pthread_join(thread, NULL));
		close(ends[0]);
		compare(true);
	}
}

/* ---- fgets */

static void fgets_rows(void)
{
	size_t offset = 11;

	set_up();
	/* One line of most sizes, then short ones. */
	FILE *file = open_scratch("w", NULL);

	for (size_t i = 0; i < SIZE; i++)
		putc(i == SIZE / 2 || (i > SIZE / 2 && i % 50 == 0) ? '\n' : 'a' + (int)(i % 26), file);
	fclose(file);
	for (int unlocked = 0; unlocked < 2; unlocked++)
		FOR_BUFFERINGS(b) FOR_STATES(state) FOR_ROWS(row, offset) {
			struct outcome results[2];

			/* Without a buffer, every byte is a system call. */
			if (b->mode == _IONBF && row_size(row, offset) > PAGE + 1)
				continue;
			now("fgets(%zu), %s buffer, %s", row_size(row, offset), b->name, state_names[state]);
			bring(state);
			for (int i = 0; i < 2; i++) {
				char *p = (char *)(i ? shared : plain) + offset;
				int size = (int)row_size(row, offset);
				FILE *stream = open_scratch("r", b);

				errno = 0;
				results[i] = outcome((unlocked ? fgets_unlocked : fgets)(p, size, stream) == p, stream);
				results[i].next = getc(stream);
				fclose(stream);
			}
			SAME_OUTCOME(results[1], results[0]);
			compare(row % 2);
		}
}

static void fgets_waits(void)
{
	set_up();
	for (const struct buffering *b = bufferings; b < bufferings + 3; b++) FOR_STATES(state) {
		struct pipe_user r = { .size = 100, .line = true };
		pthread_t thread;
		int writer;

		now("fgets from a pipe, %s buffer, %s", b->name, state_names[state]);
		bring(state);
		r.file = open_pipe(&writer, b);
		CHECK(!pthread_create(&thread, NULL, read_pipe, &r));
		await_asleep(&r.tid);
		close_all();
		CHECK_EQ(write(writer, "half a line", 11), 11);
		await_asleep(&r.tid);
		close_all();
		CHECK_EQ(write(writer, ", whole\nnext", 12), 12);
		CHECK(!pthread_join(thread, NULL));
		SAME(r.result, 1);
		strcpy((char *)plain + 3, "half a line, whole\n");
		compare(state != READ_ONLY);
		close(writer);
		fclose(r.file);
	}
}

/* ---- buffers of streams */

/* What stands for a buffer in shared memory is lost with its stream. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libc/stdio.c";
}

static void set_buffer(FILE *file, int how, char *buffer, size_t size)
{
	if (how < 3)
		CHECK_EQ(setvbuf(file, buffer, how == 0 ? _IOFBF : how == 1 ? _IOLBF : _IONBF, size), 0);
	else if (how == 3)
		setbuf(file, buffer);
	else
		setbuffer(file, buffer, size);
}

static void setvbuf_shared(void)
{
	set_up();
	for (int how = 0; how < 5; how++) FOR_STATES(state) {
		char *buffer = alloc(2 * block), got[1000] = "";
		unsigned n = (unsigned)(2 * block);
		FILE *file;

		now("buffer set in way %d, %s", how, state_names[state]);
		memset(buffer, 0, n);
		if (state != DIRTY)
			CALL("increment_bytes", n, adsmPtr(buffer), adsmVal(n));
		SETTLE();
		file = open_scratch("w+", NULL);
		set_buffer(file, how, buffer, n);
		CHECK(fprintf(file, "one %d\n", 1) > 0);
		CALL("increment_bytes", n, adsmPtr(buffer), adsmVal(n));
		SETTLE();
		CHECK(fprintf(file, "two %d\n", 2) > 0);
		CHECK(!fseek(file, 4, SEEK_SET));
		CHECK_EQ(getc(file), '1');
		CALL("increment_bytes", n, adsmPtr(buffer), adsmVal(n));
		SETTLE();
		CHECK(fgets(got, sizeof(got), file));
		CHECK(fgets(got, sizeof(got), file));
		SAME(strcmp(got, "two 2\n"), 0);
		/* It is the object's own bytes that kernels have counted. */
		for (unsigned i = 0; i < n; i++)
			CHECK_AT(buffer[i], i, 2 + (state != DIRTY));
		CHECK_OK(adsmFree(buffer));
		CHECK(!fseek(file, 0, SEEK_END));
		CHECK(fputs("three\n", file) >= 0);
		CHECK(!fclose(file));
		file = open_scratch("r", NULL);
		CHECK_EQ(fread(got, 1, sizeof(got), file), 18);
		SAME(memcmp(got, "one 1\ntwo 2\nthree\n", 18), 0);
		fclose(file);
	}
	CHECK(setvbuf(scratch, (char *)shared, 77, 100));
	CHECK(setvbuf(scratch, (char *)plain, 77, 100));
}

/* A buffer is as large as the one that was given: what a reader sees comes when it would. */
static void setvbuf_size(void)
{
	int size = 64 << 10, n = 60000;

	for (int how = 0; how < 5; how++) {
		char *buffers[2] = { malloc((size_t)size), alloc((size_t)size) };
		int early[2], sizes[2], ends[2], late;

		for (int i = 0; i < 2; i++) {
			FILE *file;

			CHECK(!pipe(ends));
			file = fdopen(ends[1], "w");
			CHECK(file);
			set_buffer(file, how, buffers[i], (size_t)size);
			for (int k = 0; k < n; k++)
				CHECK(putc('x', file) == 'x');
			sizes[i] = (int)__fbufsize(file);
			CHECK(!ioctl(ends[0], FIONREAD, &early[i]));
			CHECK(!fflush(file) && !ioctl(ends[0], FIONREAD, &late));
			CHECK_EQ(late, n);
			fclose(file);
			close(ends[0]);
		}
		now("buffer set in way %d", how);
		SAME(sizes[1], sizes[0]);
		SAME(early[1], early[0]);
		SAME(sizes[0] == size && !early[0], how == 0 || how == 1 || how == 4);
		CHECK_OK(adsmFree(buffers[1]));
		free(buffers[0]);
	}
}

/* ---- asynchronous input and output */

static int await(const struct aiocb *cb)
{
	while (aio_error(cb) == EINPROGRESS)
		CHECK(!aio_suspend(&cb, 1, NULL) || errno == EINTR);
	return aio_error(cb);
}

/* A request of its own, in ordinary or in shared memory. */
static struct aiocb *request(struct aiocb *cb, int fd, void *p, size_t size, off_t at)
{
	memset(cb, 0, sizeof(*cb));
	cb->aio_fildes = fd;
	cb->aio_buf = p;
	cb->aio_nbytes = size;
	cb->aio_offset = at;
	cb->aio_sigevent.sigev_notify = SIGEV_NONE;
	return cb;
}

static sem_t notified;

static void on_done(union sigval value)
{
	CHECK(value.sival_ptr == &notified);
	sem_post(&notified);
}

/* Tell of completion by a thread that libc starts. */
static void tell(struct sigevent *event, void (*function)(union sigval value))
{
	if (WITH_TSAN)
		skip("ThreadSanitizer dies in threads that libc starts");
	event->sigev_notify = SIGEV_THREAD;
	event->sigev_notify_function = function;
	event->sigev_value.sival_ptr = &notified;
}

static void aio_rows(void)
{
	struct aiocb own, *in_shared, *cb;
	size_t offset = 5;
	unsigned k = 0;
	int fd;

	set_up();
	in_shared = alloc(sizeof(*in_shared));
	make_file(SIZE / 2 + 500);
	fd = fileno(scratch);
	for (int writes = 0; writes < 2; writes++) FOR_STATES(state) FOR_ROWS(row, offset) {
		size_t size = row_size(row, offset);
		off_t at = k % 3 * SIZE / 4;
		int errors[2];
		ssize_t results[2];

		now("aio_%s(%zu) at %ld, %s", writes ? "write" : "read", size, (long)at, state_names[state]);
		bring(state);
		for (int i = 0; i < 2; i++) {
			cb = request(k % 2 ? in_shared : &own, fd, (i ? shared : plain) + offset, size, at);
			CHECK_EQ(writes ? aio_write(cb) : aio_read(cb), 0);
			close_all();
			errors[i] = await(cb);
			results[i] = aio_return(cb);
			CHECK(cb->aio_buf == (i ? shared : plain) + offset);
			CHECK_EQ(cb->aio_nbytes, size);
		}
		SAME(errors[1], errors[0]);
		SAME(results[1], results[0]);
		if (writes) {
			unsigned char *back = malloc(SIZE);

			CHECK(back);
			SAME(pread(fd, back, size, at), size);
			SAME(memcmp(back, plain + offset, size), 0);
			free(back);
		}
		compare(k++ % 4 < 3);
	}
}

/* What is refused, at once or later. */
static void aio_refused(void)
{
	struct aiocb cb;
	int errors[2], later[2];
	ssize_t results[2];

	set_up();
	make_file(3 * block);
	bring(INVALID);
	for (int way = 0; way < 3; way++) {
		for (int i = 0; i < 2; i++) {
			request(&cb, way ? fileno(scratch) : 1000, i ? shared : plain, 2 * block, way == 1 ? -5 : 0);
			cb.aio_reqprio = way == 2 ? -1 : 0;
			errno = 0;
			results[i] = aio_read(&cb);
			errors[i] = errno;
			later[i] = results[i] ? 0 : await(&cb);
			results[i] = results[i] ? results[i] : aio_return(&cb);
		}
		now("aio_read refused in way %d", way);
		SAME(results[1], results[0]);
		SAME(errors[1], errors[0]);
		SAME(later[1], later[0]);
		CHECK(results[0] < 0);
	}
	compare(true);
}

static void aio_synced(void)
{
	struct aiocb *in_shared;

	set_up();
	make_file(100);
	in_shared = alloc(sizeof(*in_shared));
	now("aio_fsync");
	CHECK(!aio_fsync(O_SYNC, request(in_shared, fileno(scratch), NULL, 0, 0)));
	close_all();
	SAME(await(in_shared), 0);
	SAME(aio_return(in_shared), 0);
	errno = 0;
	CHECK_EQ(aio_fsync(12345, in_shared), -1);
	SAME(errno, EINVAL);
}

/* One that waits behind another can still be taken back. */
static void aio_cancelled(void)
{
	struct aiocb first, second;
	int writer;
	FILE *file;
	char byte;

	set_up();
	now("aio_cancel");
	bring(INVALID);
	file = open_pipe(&writer, &bufferings[0]);
	CHECK(!aio_read(request(&first, fileno(file), &byte, 1, 0)));
	CHECK(!aio_read(request(&second, fileno(file), shared, 2 * block, 0)));
	SAME(aio_error(&second), EINPROGRESS);
	SAME(aio_cancel(fileno(file), &second), AIO_CANCELED);
	SAME(aio_error(&second), ECANCELED);
	SAME(aio_return(&second), -1);
	CHECK_EQ(write(writer, "x", 1), 1);
	SAME(await(&first), 0);
	SAME(aio_cancel(fileno(file), &second), AIO_ALLDONE);
	compare(true);
	close(writer);
	fclose(file);
}

/* An aiocb that is used again, though nobody asked for its result. */
static void aio_again(void)
{
	struct aiocb cb;

	set_up();
	make_file(3 * block);
	bring(INVALID);
	now("an aiocb used again");
	CHECK(!aio_read(request(&cb, fileno(scratch), shared, block, 0)));
	while (aio_error(&cb) == EINPROGRESS)
		sched_yield();
	CHECK(!sem_init(&notified, 0, 0));
	request(&cb, fileno(scratch), shared + block, block, (off_t)block);
	tell(&cb.aio_sigevent, on_done);
	CHECK(!aio_read(&cb));
	while (sem_wait(&notified))
		;
	CHECK(!aio_read(request(&cb, fileno(scratch), plain, 2 * block, 0)));
	SAME(await(&cb), 0);
	SAME(aio_return(&cb), 2 * block);
	compare(true);
}

static void aio_list(void)
{
	struct aiocb cbs[6], **list;
	struct sigevent *event;
	unsigned char mine[100];
	int fd;

	set_up();
	CHECK(!sem_init(&notified, 0, 0));
	list = alloc(7 * sizeof(*list));
	event = alloc(sizeof(*event));
	for (int waits = 0; waits < 2; waits++) FOR_STATES(state) for (int bad = 0; bad < 2; bad++) {
		int results[2], errors[2];

		now("lio_listio(%s), %s, %s entry", waits ? "LIO_WAIT" : "LIO_NOWAIT", state_names[state],
		    bad ? "one bad" : "no bad");
		make_file(SIZE);
		bring(state);
		fd = fileno(scratch);
		for (int i = 0; i < 2; i++) {
			unsigned char *p = i ? shared : plain;

			memset(event, 0, sizeof(*event));
			tell(event, on_done);
			request(&cbs[0], fd, p, block, 7)->aio_lio_opcode = LIO_READ;
			request(&cbs[1], fd, p + block, 100, (off_t)(2 * SIZE))->aio_lio_opcode = LIO_WRITE;
			request(&cbs[2], fd, mine, sizeof(mine), 0)->aio_lio_opcode = LIO_READ;
			request(&cbs[3], fd, p + 2 * block, 200, 0)->aio_lio_opcode = LIO_NOP;
			request(&cbs[4], fd, p + size_of_one, size_of_one, 9)->aio_lio_opcode = LIO_READ;
			request(&cbs[5], bad ? 1000 : fd, p + 2 * block, 300, 0)->aio_lio_opcode = LIO_READ;
			for (int j = 0; j < 6; j++)
				list[j + (j > 2)] = &cbs[j];
			list[3] = NULL;
			close_all();
			errno = 0;
			results[i] = lio_listio(waits ? LIO_WAIT : LIO_NOWAIT, list, 7, event);
			errors[i] = errno;
			close_all();
			if (!waits) {
				while (sem_wait(&notified))
					;
			}
			SAME(aio_error(&cbs[0]), 0);
			SAME(aio_return(&cbs[0]), block);
			SAME(aio_error(&cbs[1]), 0);
			SAME(aio_return(&cbs[1]), 100);
			SAME(aio_return(&cbs[2]), 100);
			SAME(aio_error(&cbs[4]), 0);
			SAME(aio_return(&cbs[4]), size_of_one);
			SAME(aio_error(&cbs[5]), bad ? EBADF : 0);
			SAME(aio_return(&cbs[5]), bad ? -1 : 300);
		}
		SAME(results[1], results[0]);
		SAME(errors[1], errors[0]);
		SAME(results[1], waits && bad ? -1 : 0);
		compare(state != READ_ONLY);
	}
}

/* Reads from a pipe wait until somebody writes. */

static _Atomic unsigned n_waiting;

static void *wait_in_aio(void *arg)
{
	const struct aiocb *const list[] = { NULL, arg };

	atomic_fetch_add(&n_waiting, 1);
	while (aio_error(arg) == EINPROGRESS)
		CHECK(!aio_suspend(list, 2, NULL) || errno == EINTR);
	CHECK_EQ(aio_error(arg), 0);
	return (void *)(uintptr_t)shared[500];
}

static void aio_waits(void)
{
	struct timespec moment = { 0, 1000 };

	set_up();
	for (int i = 0; i < 5; i++) FOR_STATES(state) {
		struct aiocb cb, never;
		const struct aiocb *list[] = { &never, NULL, &cb };
		pthread_t threads[3];
		void *result;
		int writer, silent;
		FILE *file = open_pipe(&writer, bufferings), *quiet = open_pipe(&silent, bufferings);

		now("aio_suspend, %s", state_names[state]);
		bring(state);
		CHECK(!aio_read(request(&never, fileno(quiet), shared + 2 * block, block, 0)));
		CHECK(!aio_read(request(&cb, fileno(file), shared + 500, block, 0)));
		SAME(aio_error(&cb), EINPROGRESS);
		errno = 0;
		SAME(aio_suspend(list, 3, &moment), -1);
		SAME(errno, EAGAIN);
		for (int j = 0; j < 3; j++)
			CHECK(!pthread_create(&threads[j], NULL, wait_in_aio, &cb));
		while (atomic_load(&n_waiting) % 3)
			sched_yield();
		close_all();
		CHECK_EQ(write(writer, "hello", 5), 5);
		SAME(aio_suspend(list, 3, NULL), 0);
		SAME(aio_error(&cb), 0);
		SAME(aio_error(&never), EINPROGRESS);
		SAME(aio_return(&cb), 5);
		for (int j = 0; j < 3; j++) {
			CHECK(!pthread_join(threads[j], &result));
			SAME((uintptr_t)result, 'h');
		}
		close(silent);
		SAME(await(&never), 0);
		SAME(aio_return(&never), 0);
		memcpy(plain + 500, "hello", 5);
		compare(state != READ_ONLY);
		close(writer);
		fclose(file);
		fclose(quiet);
	}
}

static struct aiocb notifying;
static _Atomic long notified_error, notified_result;

static void take_result(union sigval value)
{
	if (value.sival_ptr != &notified)
		_exit(1);
	atomic_store(&notified_error, aio_error(&notifying));
	atomic_store(&notified_result, aio_return(&notifying));
	sem_post(&notified);
}

static void on_signal(int signal, siginfo_t *si, void *context)
{
	take_result(si->si_value);
}

static void aio_notify(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct aiocb *cb = &notifying;

	set_up();
	CHECK(!sem_init(&notified, 0, 0));
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	make_file(SIZE);
	for (int by_signal = 1; by_signal >= 0; by_signal--) FOR_STATES(state) for (int again = 0; again < 5; again++) {
		now("a request that tells by %s, %s", by_signal ? "signal" : "thread", state_names[state]);
		bring(state);
		request(cb, fileno(scratch), shared + 9, 2 * block, 0);
		cb->aio_sigevent.sigev_notify = SIGEV_SIGNAL;
		cb->aio_sigevent.sigev_signo = SIGUSR1;
		cb->aio_sigevent.sigev_value.sival_ptr = &notified;
		if (!by_signal)
			tell(&cb->aio_sigevent, take_result);
		CHECK(!aio_read(cb));
		/* Others may look meanwhile. */
		while (again % 2 && aio_error(cb) == EINPROGRESS)
			;
		while (sem_wait(&notified))
			CHECK_EQ(errno, EINTR);
		SAME(atomic_load(&notified_error), 0);
		SAME(atomic_load(&notified_result), 2 * block);
		for (size_t i = 0; i < 2 * block; i++)
			plain[9 + i] = file_byte(i);
		compare(again);
	}
}

/* The program waits for the notification only: the next kernel gets the bytes, and what it makes of them stays. */
static void aio_told(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct aiocb *in_shared, own;
	sigset_t told;

	set_up();
	in_shared = alloc(sizeof(*in_shared));
	make_file(SIZE);
	CHECK(!sigemptyset(&told) && !sigaddset(&told, SIGRTMIN) && !pthread_sigmask(SIG_BLOCK, &told, NULL));
	for (int list = 0; list < 2; list++) FOR_STATES(state) for (int round = 0; round < 2; round++) {
		struct aiocb *cb = round ? in_shared : &own;
		size_t size = 2 * block + 50;

		now("%s that tells by signal, %s", list ? "lio_listio" : "aio_read", state_names[state]);
		bring(state);
		request(cb, fileno(scratch), shared + 9, size, 0)->aio_lio_opcode = LIO_READ;
		if (!list)
			cb->aio_sigevent = event;
		CHECK(!(list ? lio_listio(LIO_NOWAIT, &cb, 1, &event) : aio_read(cb)));
		while (sigwaitinfo(&told, NULL) != SIGRTMIN)
			CHECK_EQ(errno, EINTR);
		for (size_t i = 0; i < size; i++)
			plain[9 + i] = file_byte(i);
		compare(true);
		SAME(aio_error(cb), 0);
		SAME(aio_return(cb), size);
		for (size_t i = 0; i < SIZE; i++)
			plain[i]++;
		compare(round);
	}
}

/* Kernels run, and the CPU touches what is around, while a request is in progress. */
static void aio_kernels(void)
{
	set_up();
	for (int way = 0; way < 3; way++) FOR_STATES(state) {
		size_t size = way ? 2 * block + 50 : 100, delivered = way == 2 ? 0 : 100;
		struct aiocb *cb = alloc(sizeof(*cb));
		jmp_buf place;
		int writer;
		FILE *volatile file = open_pipe(&writer, bufferings);	/* setjmp() */
		unsigned char bytes[100];

		now("kernels during an aio_read of %zu, %s", size, state_names[state]);
		bring(state);
		CHECK(!aio_read(request(cb, fileno(file), shared + 500, size, 0)));
		/* It is no call of this thread's, so a jump leaves it alone. */
		if (!setjmp(place))
			longjmp(place, 1);
		for (int i = 0; i < 4; i++) {
			close_all();
			SAME(aio_error(cb), EINPROGRESS);
			SAME(shared[499], plain[499]);
			SAME(shared[500 + size], plain[500 + size]);
			shared[i] = plain[i] = (unsigned char)i;
			shared[500 + size + i] = plain[500 + size + i] = (unsigned char)i;
		}
		close_all();
		for (int i = 0; i < 100; i++)
			bytes[i] = (unsigned char)(i * 3);
		if (delivered)
			CHECK_EQ(write(writer, bytes, delivered), delivered);
		close(writer);
		SAME(await(cb), 0);
		SAME(aio_return(cb), delivered);
		memcpy(plain + 500, bytes, delivered);
		compare(state != READ_ONLY);
		fclose(file);
		CHECK_OK(adsmFree(cb));
	}
}

static const struct conform_case cases[] = {
	CASE("fread", fread_rows),
	CASE("fread-eof", fread_eof),
	CASE("fread-partial-item", fread_partial_item),
	CASE("fread-overflow", fread_overflow),
	CASE("fread-checked", fread_checked),
	CASE("fread-cancelled", fread_cancelled),
	CASE("pipe-fread", pipe_fread),
	CASE("fwrite", fwrite_rows),
	CASE("fwrite-tiny-buffer", fwrite_tiny_buffer),
	CASE("fwrite-full", fwrite_full),
	CASE("pipe-fwrite", pipe_fwrite),
	CASE("fgets", fgets_rows),
	CASE("fgets-waits", fgets_waits),
	CASE("fputs", fputs_rows),
	CASE("puts", puts_rows),
	CASE("setvbuf", setvbuf_shared),
	CASE("setvbuf-size", setvbuf_size),
	CASE("aio", aio_rows),
	CASE("aio-refused", aio_refused),
	CASE("aio-fsync", aio_synced),
	CASE("aio-cancel", aio_cancelled),
	CASE("aio-again", aio_again),
	CASE("aio-list", aio_list),
	CASE("aio-suspend", aio_waits),
	CASE("aio-notify", aio_notify),
	CASE("aio-told", aio_told),
	CASE("aio-kernels", aio_kernels),
};
CONFORM_MAIN(cases)
