/* SPDX-License-Identifier: MIT */
/* stdio.c - streams, each call held against the same call on ordinary memory. */
#include "scratch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#undef fread_unlocked
#undef fwrite_unlocked

size_t __fread_chk(void *p, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *p, size_t room, size_t size, size_t n, FILE *stream);

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

/* No file and no memory is that large: libc's answer is accepted. */
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

/* The stream belongs to no thread afterwards, and earlier input counts as libc says: as nothing. */
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

/* A stream that cannot be written to. */
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
};
CONFORM_MAIN(cases)
