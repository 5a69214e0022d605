/* SPDX-License-Identifier: MIT */
/* test_cache.c - compiled programs on disk: what comes back is what was put there, or nothing. */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core.h"
#include "base/log.h"

#define KEY "a device, a driver, a source"
#define OTHER_KEY "a device, a driver, B source"
#define DATA "what a compiler made of it"
#define HEADER_SIZE 32
#define NOBODY 65534

/* ---- read() and write() for the library's part of this program: interrupted, or short, where a test says so */

static _Atomic size_t chunk;		/* bytes at a time; 0: all, and no interruptions */
static _Atomic unsigned n_interrupted;

static ssize_t in_chunks(long number, int fd, void *data, size_t size)
{
	static _Atomic unsigned n_calls;

	if (chunk && n_calls++ % 2) {
		n_interrupted++;
		errno = EINTR;
		return -1;
	}
	return syscall(number, fd, data, chunk && size > chunk ? chunk : size);
}

ssize_t read(int fd, void *data, size_t size)
{
	return in_chunks(SYS_read, fd, data, size);
}

ssize_t write(int fd, const void *data, size_t size)
{
	return in_chunks(SYS_write, fd, (void *)data, size);
}

/* ---- the calls, with their lines of the log counted */

static struct adsm_cache cache = { "some", "", 0 };
static char root[256], folder[300], scratch[300];
static int n_lines;			/* of the log, by the last call */

static int listen(int *ret_old)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	*ret_old = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	CHECK(fd >= 0 && *ret_old >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	return fd;
}

static void count_lines(int fd, int old)
{
	char text[4096];
	ssize_t n;

	CHECK(dup2(old, STDERR_FILENO) >= 0);
	n = pread(fd, text, sizeof(text), 0);
	CHECK(n >= 0);
	n_lines = 0;
	for (ssize_t i = 0; i < n; i++)
		n_lines += text[i] == '\n';
	close(fd);
	close(old);
}

static void put(const void *key, size_t key_size, const void *data, size_t size)
{
	int old, fd = listen(&old);

	adsm_cache_put(&cache, key, key_size, data, size);
	count_lines(fd, old);
}

static int get(const void *key, size_t key_size, void **ret_data, size_t *ret_size)
{
	int old, fd = listen(&old), ret = adsm_cache_get(&cache, key, key_size, ret_data, ret_size);

	count_lines(fd, old);
	return ret;
}

static void put_text(const char *key, const char *data)
{
	put(key, strlen(key), data, strlen(data));
}

/* Is there something for a key? It has to be this. */
static bool has(const char *key, const char *data)
{
	void *found = &found;
	size_t size = 1;
	int ret = get(key, strlen(key), &found, &size);

	if (ret) {
		CHECK_EQ(ret, -ENOENT);
		CHECK(found == &found && size == 1);
		return false;
	}
	CHECK(size == strlen(data) && !memcmp(found, data, size));
	free(found);
	return true;
}

/* ---- files */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

static void clean(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void clean_up(void)
{
	clean(root);
}

/* The number of files in a folder, and the path of one of them. */
static int n_files(const char *path, char *ret_file, size_t size)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int n = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		n++;
		if (ret_file)
			CHECK((size_t)snprintf(ret_file, size, "%s/%s", path, entry->d_name) < size);
	}
	closedir(dir);
	return n;
}

/* Where the file of a key would be. */
static const char *path_of(const char *key)
{
	static char path[600];
	char elsewhere[600];

	cache.folder = scratch;
	put_text(key, "");
	CHECK_EQ(n_files(scratch, elsewhere, sizeof(elsewhere)), 1);
	clean(scratch);
	cache.folder = folder;
	snprintf(path, sizeof(path), "%s%s", folder, strrchr(elsewhere, '/'));
	return path;
}

static bool is_there(const char *path)
{
	struct stat status;

	return !lstat(path, &status);
}

static size_t read_whole(const char *path, char *ret_bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	CHECK(fd >= 0);
	n = pread(fd, ret_bytes, size, 0);
	CHECK(n >= 0 && (size_t)n < size);
	close(fd);
	return (size_t)n;
}

static void write_whole(const char *path, const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	close(fd);
}

static void set_time(const char *path, time_t seconds)
{
	struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

	CHECK(!utimensat(AT_FDCWD, path, times, 0));
}

static time_t get_time(const char *path)
{
	struct stat status;

	CHECK(!stat(path, &status));
	return status.st_mtime;
}

/* ---- what comes back */

static void test_round_trip(void)
{
	size_t key_size = 100000, size = 500000, got_size;
	char *key = malloc(key_size), *data = malloc(size);
	struct stat status;
	void *got;

	CHECK(key && data);
	for (size_t i = 0; i < key_size; i++)
		key[i] = (char)(i * i >> 3);
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * i >> 5);

	CHECK(!has(KEY, DATA) && !n_lines && !is_there(folder));	/* looking makes no folders */
	put_text(KEY, DATA);
	CHECK(has(KEY, DATA) && !n_lines && !has(OTHER_KEY, "") && !n_lines);
	CHECK(!stat(folder, &status) && (status.st_mode & 0777) == 0700);
	CHECK(!stat(path_of(KEY), &status) && (status.st_mode & 0777) == 0600);

	put_text(KEY, "shorter");
	CHECK(has(KEY, "shorter"));
	put(KEY, strlen(KEY), NULL, 0);
	CHECK(has(KEY, ""));

	for (chunk = 0; chunk <= 777; chunk += 777) {
		key[0]++;
		put(key, key_size, data, size);
		CHECK(!get(key, key_size, &got, &got_size) && !n_lines);
		CHECK(got_size == size && !memcmp(got, data, size));
		free(got);
	}
	chunk = 0;
	CHECK(n_interrupted > 2 * size / 777);
	CHECK_EQ(n_files(folder, NULL, 0), 3);
	free(key);
	free(data);
	clean(folder);
}

/* Two keys of one hash: a file is whose key it holds, all of it. */
static void check_same_hash(const char *other, const char *data)
{
	char path[600];

	put_text(other, data);
	CHECK_EQ(n_files(folder, path, sizeof(path)), 1);
	CHECK(!rename(path, path_of(KEY)));
	CHECK(!has(KEY, "") && !n_lines && is_there(path_of(KEY)));
	put_text(KEY, DATA);
	CHECK(has(KEY, DATA) && n_files(folder, NULL, 0) == 1);
	clean(folder);
}

static void test_same_hash(void)
{
	check_same_hash(OTHER_KEY, DATA);
	check_same_hash(KEY " and more", DATA);
	check_same_hash("a device", &KEY[strlen("a device")]);	/* key and data begin with KEY */
}

/* ---- damage */

static void check_damaged(const char *path, const char *bytes, size_t size)
{
	write_whole(path, bytes, size);
	CHECK(!has(KEY, DATA));
	CHECK_EQ(n_lines, 1);
	CHECK(!is_there(path));
	CHECK(!has(KEY, DATA) && !n_lines);
}

static void test_damage(void)
{
	static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - HEADER_SIZE, (uint64_t)1 << 63, 1 << 30, 0 };
	const uint64_t half = (uint64_t)1 << 63;
	char path[600], bytes[1000], bad[1000];
	uint64_t two[2];
	size_t size;

	put_text(KEY, DATA);
	snprintf(path, sizeof(path), "%s", path_of(KEY));
	size = read_whole(path, bytes, sizeof(bytes));
	CHECK_EQ(size, HEADER_SIZE + strlen(KEY) + strlen(DATA));

	for (size_t n = 0; n < size; n++)
		check_damaged(path, bytes, n);
	for (size_t i = 0; i < size; i++) {
		memcpy(bad, bytes, size);
		bad[i] ^= 1 << i % 8;
		check_damaged(path, bad, size);
	}
	memcpy(bad, bytes, size);
	memset(bad + size, 0, 100);
	check_damaged(path, bad, size + 1);
	check_damaged(path, bad, size + 100);

	/* Sizes that would be beyond all memory, and such that only seem to fit. */
	for (size_t at = 0; at < HEADER_SIZE; at += 8)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			memcpy(bad, bytes, size);
			memcpy(bad + at, &sizes[i], 8);
			check_damaged(path, bad, size);
		}
	memcpy(bad, bytes, size);
	memcpy(two, bad + 8, sizeof(two));
	CHECK(two[0] == strlen(KEY) && two[1] == strlen(DATA));
	two[0] += half;
	two[1] += half;
	memcpy(bad + 8, two, sizeof(two));
	check_damaged(path, bad, size);

	write_whole(path, bytes, size);
	CHECK(has(KEY, DATA) && !n_lines);
	clean(folder);
}

static void test_foreign_files(void)
{
	char path[600], aside[400];

	put_text(KEY, DATA);
	snprintf(path, sizeof(path), "%s", path_of(KEY));
	snprintf(aside, sizeof(aside), "%s/aside", root);
	CHECK(!rename(path, aside) && !symlink(aside, path));
	CHECK(!has(KEY, DATA) && n_lines == 1 && is_there(path));
	CHECK(!unlink(path) && !mkfifo(path, 0600));
	CHECK(!has(KEY, DATA) && n_lines == 1 && is_there(path));
	put_text(KEY, DATA);			/* in its place */
	CHECK(has(KEY, DATA));
	CHECK(!unlink(path) && !mkdir(path, 0700));
	CHECK(!has(KEY, DATA) && n_lines == 1 && is_there(path));
	put_text(KEY, DATA);
	CHECK(n_lines == 1 && n_files(folder, NULL, 0) == 1);
	CHECK(!rmdir(path) && !rename(aside, path));
	if (!geteuid()) {
		CHECK(!chown(path, NOBODY, NOBODY));
		CHECK(!has(KEY, DATA) && n_lines == 1 && is_there(path));
		CHECK(!chown(path, 0, 0));
	}
	CHECK(has(KEY, DATA));
	clean(folder);
}

/* ---- folders */

static void check_child(int pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void test_no_access(void)
{
	struct rlimit limit;
	char deeper[400], big[4096] = "";
	int pid;

	/* A user without rights: for root there are none that count. */
	put_text(KEY, DATA);
	CHECK(!chmod(folder, 0));
	pid = fork();
	if (!pid) {
		CHECK(geteuid() || !setresuid(NOBODY, NOBODY, NOBODY));
		CHECK(!has(KEY, DATA) && n_lines == 1);
		put_text(KEY, DATA);
		CHECK_EQ(n_lines, 1);
		_exit(0);
	}
	check_child(pid);
	CHECK(!chmod(folder, 0700));
	CHECK(has(KEY, DATA));

	/* No room: what is there stays, and nothing else does. */
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && !getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = 1000;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	put(KEY, strlen(KEY), big, sizeof(big));
	limit.rlim_cur = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_EQ(n_lines, 1);
	CHECK_EQ(n_files(folder, NULL, 0), 1);
	CHECK(has(KEY, DATA));
	clean(folder);

	/* A file where the folder would be, or one above it. */
	write_whole(folder, "", 0);
	for (int i = 0; i < 2; i++) {
		put_text(KEY, DATA);
		CHECK_EQ(n_lines, 1);
		CHECK(!has(KEY, DATA) && n_lines == 1);
		snprintf(deeper, sizeof(deeper), "%s/one/two", folder);
		cache.folder = deeper;
	}
	cache.folder = folder;
	clean(folder);
}

/* Is this the folder that is used? It is made for that, and removed. */
static bool is_used(const char *path)
{
	bool used;

	put_text(KEY, DATA);
	used = is_there(path) && n_files(path, NULL, 0) == 1 && has(KEY, DATA);
	clean(path);
	return used;
}

static void test_choice(void)
{
	char xdg[400], home[400], xdg_folder[450], home_folder[450];
	char *long_name = malloc(PATH_MAX + 1);

	snprintf(xdg, sizeof(xdg), "%s/x/cache", root);
	snprintf(home, sizeof(home), "%s/home", root);
	snprintf(xdg_folder, sizeof(xdg_folder), "%s/adsm/some", xdg);
	snprintf(home_folder, sizeof(home_folder), "%s/.cache/adsm/some", home);
	cache.folder = "";
	setenv("XDG_CACHE_HOME", xdg, 1);
	setenv("HOME", home, 1);
	CHECK(is_used(xdg_folder) && !is_there(home));
	setenv("XDG_CACHE_HOME", "relative", 1);
	CHECK(is_used(home_folder) && !is_there("relative"));
	setenv("XDG_CACHE_HOME", "", 1);
	CHECK(is_used(home_folder));
	unsetenv("XDG_CACHE_HOME");
	CHECK(is_used(home_folder));
	unsetenv("HOME");
	put_text(KEY, DATA);
	CHECK(!n_lines && !has(KEY, DATA) && !n_lines && !is_there(home_folder));

	setenv("HOME", home, 1);
	cache.folder = "off";
	put_text(KEY, DATA);
	CHECK(!n_lines && !has(KEY, DATA) && !n_lines && !is_there(home_folder) && !is_there("off"));

	cache.folder = "below/here/";
	CHECK(is_used("below/here"));

	/* Too long for any path; and only with a file's name. */
	CHECK(long_name);
	memset(long_name, 'x', PATH_MAX);
	for (size_t i = 100; i < PATH_MAX; i += 100)
		long_name[i] = '/';
	long_name[PATH_MAX] = '\0';
	cache.folder = long_name;
	for (int i = 0; i < 2; i++) {
		put_text(KEY, DATA);
		CHECK_EQ(n_lines, 1);
		CHECK(!has(KEY, DATA) && n_lines == 1);
		long_name[100] = '\0';
		CHECK_EQ(is_there(long_name), i);	/* no folders for nothing */
		clean(long_name);
		long_name[100] = '/';
		long_name[PATH_MAX - 10] = '\0';
	}
	free(long_name);
	cache.folder = folder;
}

/* ---- several processes */

static void put_and_get(char byte, size_t size)
{
	char *data = malloc(size);
	size_t got_size;
	void *got;

	CHECK(data);
	memset(data, byte, size);
	for (int i = 0; i < 300; i++) {
		put(KEY, strlen(KEY), data, size);
		CHECK_EQ(n_lines, 0);
		CHECK_EQ(get(KEY, strlen(KEY), &got, &got_size), 0);
		CHECK(got_size == 100000 || got_size == 150000);
		CHECK(*(char *)got == (got_size == 100000 ? 'a' : 'b'));
		CHECK(!memcmp(got, (char *)got + 1, got_size - 1));
		free(got);
	}
	free(data);
}

static void test_processes(void)
{
	int pid = fork();

	if (!pid) {
		put_and_get('a', 100000);
		_exit(0);
	}
	put_and_get('b', 150000);
	check_child(pid);
	CHECK_EQ(n_files(folder, NULL, 0), 1);
	clean(folder);
}

/* ---- turns */

/* Two processes never have a turn at once; a process that ends has none; the program's descriptor is not closed. */
static void test_turns(void)
{
	struct adsm_cache_turn turn;
	int pid, ends[2], fd;
	char byte;

	CHECK(!mkdir(scratch, 0700));
	pid = fork();
	for (int i = 0; i < 200; i++) {
		adsm_cache_enter(&cache, KEY, strlen(KEY), &turn);
		CHECK(turn.fd >= 0);
		fd = openat(AT_FDCWD, "scratch/inside", O_CREAT | O_EXCL | O_RDWR, 0600);
		CHECK(fd >= 0);
		close(fd);
		sched_yield();
		CHECK(!unlink("scratch/inside"));
		/* As after a compilation, so that no other file stands for the same turn. */
		flock(turn.fd, LOCK_UN);
		close(turn.fd);
	}
	if (!pid)
		_exit(0);
	check_child(pid);

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid) {
		adsm_cache_enter(&cache, KEY, strlen(KEY), &turn);
		CHECK(write(ends[1], "", 1) == 1);
		pause();
	}
	CHECK(read(ends[0], &byte, 1) == 1 && !kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	adsm_cache_enter(&cache, KEY, strlen(KEY), &turn);
	CHECK(turn.fd >= 0 && n_files(folder, NULL, 0) == 1);
	adsm_cache_leave(&cache, KEY, strlen(KEY), &turn);
	CHECK_EQ(n_files(folder, NULL, 0), 0);

	adsm_cache_enter(&cache, KEY, strlen(KEY), &turn);
	CHECK(dup2(ends[0], turn.fd) == turn.fd);
	adsm_cache_leave(&cache, KEY, strlen(KEY), &turn);
	CHECK(!close(turn.fd) && !close(ends[0]) && !close(ends[1]));

	cache.folder = "/dev/null/folder";
	adsm_cache_enter(&cache, KEY, strlen(KEY), &turn);
	CHECK_EQ(turn.fd, -1);
	adsm_cache_leave(&cache, KEY, strlen(KEY), &turn);
	cache.folder = folder;
	clean(folder);
	clean(scratch);
}

/* ---- the limit */

static const char *key_number(int i)
{
	static char key[32];

	snprintf(key, sizeof(key), "key %d", i);
	return key;
}

static void test_limit(void)
{
	static const char *const others[] = { "notes", "0123456789abcdef.c", "0123456789abcdef01234567",
					      "0123456789ABCDEF" };
	char path[600];
	int n;

	for (int i = 0; i < 256; i++) {
		put_text(key_number(i), DATA);
		set_time(path_of(key_number(i)), 1000 + i);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, others[i]);
		write_whole(path, "", 0);
		set_time(path, 1);
	}
	CHECK_EQ(n_files(folder, NULL, 0), 256 + 4);

	/* What died while it was written counts as well. */
	snprintf(path, sizeof(path), "%s/0123456789abcdef.aB3xYz", folder);
	write_whole(path, "", 0);
	set_time(path, 1);
	put_text(key_number(0), DATA);
	CHECK(!is_there(path));
	CHECK_EQ(n_files(folder, NULL, 0), 256 + 4);

	/* 5 is used; 1 to 4 and 6 to 11 go. */
	CHECK(has(key_number(5), DATA) && get_time(path_of(key_number(5))) > 2000);
	for (int i = 256; i < 266; i++) {
		put_text(key_number(i), DATA);
		CHECK_EQ(n_files(folder, NULL, 0), 256 + 4);
	}
	for (int i = 0; i < 266; i++) {
		bool gone = i >= 1 && i <= 11 && i != 5;

		CHECK_AT(is_there(path_of(key_number(i))), i, !gone);
	}

	/* Many too many. */
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "%s/%016x", folder, i);
		write_whole(path, "", 0);
		set_time(path, 500 + i % 7);
	}
	put_text(key_number(0), DATA);
	n = 0;
	for (int i = 0; i < 266; i++)
		n += has(key_number(i), DATA);
	CHECK_EQ(n, 256);
	CHECK_EQ(n_files(folder, NULL, 0), 256 + 4);
	clean(folder);
}

int main(void)
{
	const char *where = getenv("TMPDIR");
	int n_open;

	snprintf(root, sizeof(root), "%.200s/adsm-cache-XXXXXX", where ? where : "/tmp");
	CHECK(mkdtemp(root) && !chdir(root));
	atexit(clean_up);
	snprintf(folder, sizeof(folder), "%s/a/folder", root);
	snprintf(scratch, sizeof(scratch), "%s/scratch", root);
	cache.folder = folder;
	adsm_log_level = ADSM_LOG_INFO;
	umask(022);
	n_open = n_files("/proc/self/fd", NULL, 0);

	test_round_trip();
	test_same_hash();
	test_damage();
	test_foreign_files();
	test_no_access();
	test_choice();
	test_processes();
	test_turns();
	test_limit();

	CHECK_EQ(n_files("/proc/self/fd", NULL, 0), n_open);
	return 0;
}
