/* SPDX-License-Identifier: MIT */
/* cache.c - compiled programs on disk: one file for each key, which no process ever finds half written; and the thread
 * that compilers run on. */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"

#define MAGIC 0x6c634441u	/* "ADcl" */
#define VERSION 1u
#define FILES_MAX 256
#define HASH_START 0xcbf29ce484222325u
#define HASH_DIGITS 16		/* a file's name is nothing but these digits */
#define SUFFIX ".XXXXXX"	/* of a temporary file's name, for mkostemp() */
#define TURN_SUFFIX ".locked"	/* as long as SUFFIX */
#define TURN_LIMIT_NS 60000000000u
#define TURN_PERIOD_NS 2000000u
#define PATH_SIZE (PATH_MAX + sizeof("/") + HASH_DIGITS + sizeof(SUFFIX))

/* A file consists of this header, the key and the data, in the machine's byte order. With another byte order the magic
 * number does not match. */
struct header {
	uint32_t magic, version;
	uint64_t key_size, data_size, checksum;
};

/* FNV-1a. To continue an earlier hash, pass its result as @start. */
static uint64_t hash(uint64_t start, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < size; i++)
		start = (start ^ byte[i]) * 0x100000001b3u;
	return start;
}

/* ---- the folder */

/* Returns the variable's value if it is an absolute path, else NULL. XDG_CACHE_HOME requires this; HOME is treated the
 * same. */
static const char *path_variable(const char *name)
{
	const char *path = adsm_os_getenv(name);

	return path && *path == '/' ? path : NULL;
}

/* Returns false if no programs are to be cached. */
static bool find_folder(const struct adsm_cache *cache, char ret_folder[PATH_MAX])
{
	const char *base = cache->folder, *below = "", *name = "";

	if (!strcmp(base, "off") || adsm_os_is_privileged())
		return false;
	if (!*base) {
		base = path_variable("XDG_CACHE_HOME");
		below = "/adsm/";
		name = cache->name;
	}
	if (!base) {
		base = path_variable("HOME");
		below = "/.cache/adsm/";
		name = cache->name;
	}
	if (!base)
		return false;
	if (adsm_format(ret_folder, PATH_MAX, "%s%s%s", base, below, name) >= PATH_MAX) {
		adsm_info("%s: the cache of compiled programs is off: its folder's name is longer than %d bytes",
			  cache->name, PATH_MAX - 1);
		return false;
	}
	return true;
}

/* Make the folder and all folders above it. @folder is changed temporarily. */
static int make_folder(char *folder)
{
	struct stat status;
	int error = 0;

	if (!stat(folder, &status))
		return 0;
	for (char *end = folder + 1;; end++) {
		char c = *end;
		bool is_there;

		if (c && c != '/')
			continue;
		*end = '\0';
		is_there = !mkdir(folder, 0700) || errno == EEXIST;
		/* Some file systems refuse before they check for an existing folder. So the result of the last folder
		 * decides, and the first error is the one to report. */
		if (!is_there && !error)
			error = -errno;
		*end = c;
		if (!c)
			return is_there ? 0 : error;
	}
}

static void name_file(char ret_path[PATH_SIZE], const char *folder, uint64_t key_hash)
{
	snprintf(ret_path, PATH_SIZE, "%s/%0*" PRIx64, folder, HASH_DIGITS, key_hash);
}

/* Is this a file of the cache, or a temporary one? The folder that the user has chosen may contain other files. */
static bool is_ours(const char *name)
{
	if (strspn(name, "0123456789abcdef") != HASH_DIGITS)
		return false;
	name += HASH_DIGITS;
	return !*name || (*name == '.' && strlen(name) == strlen(SUFFIX));
}

struct file {
	struct timespec used;
	char name[HASH_DIGITS + sizeof(SUFFIX)];
};

static int compare_used(const void *a, const void *b)
{
	const struct timespec *x = &((const struct file *)a)->used, *y = &((const struct file *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* The cache's files in a folder; fewer if memory runs out. The caller frees the result. */
static struct file *list_files(DIR *folder, size_t *ret_n)
{
	struct file *files = NULL;
	struct dirent *entry;
	struct stat status;
	size_t n = 0, room = 0;

	while ((entry = readdir(folder))) {
		if (!is_ours(entry->d_name) ||
		    fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
			continue;
		if (n == room) {
			struct file *more = realloc(files, (room + FILES_MAX + 1) * sizeof(*files));

			if (!more)
				break;
			files = more;
			room += FILES_MAX + 1;
		}
		files[n].used = status.st_mtim;
		strcpy(files[n++].name, entry->d_name);
	}
	*ret_n = n;
	return files;
}

/* Remove the files that were used least recently, including temporary files of processes that died. */
static void trim(const char *path, size_t max)
{
	DIR *folder = opendir(path);
	struct file *files;
	size_t n;

	if (!folder)
		return;
	files = list_files(folder, &n);
	if (n > max) {
		qsort(files, n, sizeof(*files), compare_used);
		for (size_t i = 0; i < n - max; i++)
			unlinkat(dirfd(folder), files[i].name, 0);
	}
	free(files);
	closedir(folder);
}

/* ---- reading */

/* Returns -EBADMSG if the file ends before @size bytes. */
static int read_all(int fd, void *data, size_t size)
{
	for (char *at = data; size;) {
		ssize_t n = read(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Open a file that only this user can have written; returns -1 if there is no such file. */
static int open_file(const struct adsm_cache *cache, const char *path, size_t *ret_size)
{
	struct stat status;
	int fd;

	do	/* O_NONBLOCK: opening a pipe does not wait for its writer; the checks below refuse it */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	while (fd < 0 && errno == EINTR);
	if (fd < 0) {
		if (errno != ENOENT)
			adsm_info("%s: the cached program %s cannot be opened: %s", cache->name, path,
				  strerrordesc_np(errno));
		return -1;
	}
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
		adsm_info("%s: the cached program %s is ignored: it is not a regular file that belongs to this user",
			  cache->name, path);
		close(fd);
		return -1;
	}
	*ret_size = (size_t)status.st_size;
	return fd;
}

/* @size is the file's size. Returns -EBADMSG if the file is damaged, and -ENOENT if it belongs to another key. */
static int read_file(int fd, size_t size, const void *key, size_t key_size, void **ret_data, size_t *ret_size)
{
	struct header header;
	char *bytes;
	int ret;

	if (size < sizeof(header))
		return -EBADMSG;
	ret = read_all(fd, &header, sizeof(header));
	if (ret)
		return ret;
	size -= sizeof(header);
	if (header.magic != MAGIC || header.version != VERSION || header.key_size > size ||
	    header.data_size != size - header.key_size)
		return -EBADMSG;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return adsm_fail(-ENOMEM, "not enough memory for a cached program of %zu bytes", size);
	ret = read_all(fd, bytes, size);
	if (!ret && hash(HASH_START, bytes, size) != header.checksum)
		ret = -EBADMSG;
	if (!ret && (header.key_size != key_size || memcmp(bytes, key, key_size)))
		ret = -ENOENT;
	if (ret) {
		free(bytes);
		return ret;
	}
	memmove(bytes, bytes + key_size, header.data_size);
	*ret_data = bytes;
	*ret_size = header.data_size;
	return 0;
}

int adsm_cache_get(const struct adsm_cache *cache, const void *key, size_t key_size, void **ret_data,
		   size_t *ret_size)
{
	char folder[PATH_MAX], path[PATH_SIZE];
	size_t size;
	int fd, ret;

	if (!find_folder(cache, folder))
		return -ENOENT;
	name_file(path, folder, hash(HASH_START, key, key_size));
	fd = open_file(cache, path, &size);
	if (fd < 0)
		return -ENOENT;
	ret = read_file(fd, size, key, key_size, ret_data, ret_size);
	if (!ret)
		futimens(fd, NULL);	/* marks it as used; without that, trim() uses the time it was written */
	close(fd);
	if (!ret || ret == -ENOENT || ret == -ENOMEM)
		return ret;
	if (ret == -EBADMSG) {
		unlink(path);
		adsm_info("%s: the cached program %s is damaged; the library removed it", cache->name, path);
	} else {
		adsm_info("%s: the cached program %s cannot be read: %s", cache->name, path,
			  strerrordesc_np(-ret));
	}
	return -ENOENT;
}

/* ---- writing */

static int write_all(int fd, const void *data, size_t size)
{
	for (const char *at = data; size;) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The file has a temporary name until it is complete. No fsync(): a file that a power failure damages is compiled
 * again. */
static int write_file(const char *folder, const void *key, size_t key_size, const void *data, size_t size)
{
	uint64_t key_hash = hash(HASH_START, key, key_size);
	struct header header = { MAGIC, VERSION, key_size, size, hash(key_hash, data, size) };
	char path[PATH_SIZE], temporary[PATH_SIZE];
	struct rlimit limit;
	int fd, ret;

	/* A write beyond the limit would end the application by SIGXFSZ. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < sizeof(header) + key_size + size)
		return -EFBIG;

	name_file(path, folder, key_hash);
	adsm_format(temporary, sizeof(temporary), "%s" SUFFIX, path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, &header, sizeof(header));
	if (!ret)
		ret = write_all(fd, key, key_size);
	if (!ret)
		ret = write_all(fd, data, size);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(temporary, path))
		ret = -errno;
	if (ret)
		unlink(temporary);
	return ret;
}

void adsm_cache_put(const struct adsm_cache *cache, const void *key, size_t key_size, const void *data, size_t size)
{
	char folder[PATH_MAX];
	int ret;

	if (!find_folder(cache, folder))
		return;
	ret = make_folder(folder);
	if (!ret)
		ret = write_file(folder, key, key_size, data, size);
	if (ret)
		adsm_info("%s: a compiled program cannot be stored in the cache folder %s: %s", cache->name, folder,
			  strerrordesc_np(-ret));
	else
		trim(folder, cache->max_files ? cache->max_files : FILES_MAX);
}

/* ---- turns */

/* Returns false if the name is too long, or there is no folder. */
static bool name_turn(char ret_path[PATH_SIZE], const struct adsm_cache *cache, const void *key, size_t key_size)
{
	char folder[PATH_MAX];

	if (!find_folder(cache, folder) || make_folder(folder))
		return false;
	name_file(ret_path, folder, hash(HASH_START, key, key_size));
	strcat(ret_path, TURN_SUFFIX);
	return true;
}

/* The lock is asked for, not waited for: a process that is stopped has it without end. */
static bool lock(int fd)
{
	uint64_t limit = adsm_os_now_ns() + TURN_LIMIT_NS;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || adsm_os_now_ns() > limit)
			return false;
		adsm_os_sleep_until_ns(adsm_os_now_ns() + TURN_PERIOD_NS);
	}
	return true;
}

void adsm_cache_enter(const struct adsm_cache *cache, const void *key, size_t key_size,
		      struct adsm_cache_turn *ret_turn)
{
	char path[PATH_SIZE];
	struct stat status;

	ret_turn->fd = -1;
	if (!name_turn(path, cache, key, key_size))
		return;
	ret_turn->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (ret_turn->fd < 0)
		return;
	if (fstat(ret_turn->fd, &status) || !lock(ret_turn->fd)) {
		close(ret_turn->fd);
		ret_turn->fd = -1;
		return;
	}
	ret_turn->device = status.st_dev;
	ret_turn->inode = status.st_ino;
}

void adsm_cache_leave(const struct adsm_cache *cache, const void *key, size_t key_size,
		      const struct adsm_cache_turn *turn)
{
	char path[PATH_SIZE];
	struct stat status;

	if (turn->fd < 0 || fstat(turn->fd, &status) || status.st_dev != turn->device || status.st_ino != turn->inode)
		return;
	/* A thread that waits for this file, and one that makes a new file, may both have a turn then: the program is
	 * in the cache. */
	if (name_turn(path, cache, key, key_size))
		unlink(path);
	flock(turn->fd, LOCK_UN);	/* a child of fork() may have the descriptor, too */
	close(turn->fd);
}

/* ---- keys */

void adsm_cache_key_add(struct adsm_cache_key *key, const void *data, size_t size)
{
	if (key->size + size + 1 > key->room) {
		size_t room = 2 * (key->size + size + 1);
		char *bigger = key->bytes || !key->room ? realloc(key->bytes, room) : NULL;

		if (!bigger)
			free(key->bytes);
		key->bytes = bigger;
		key->room = room;
	}
	if (!key->bytes)
		return;
	memcpy(key->bytes + key->size, data, size);
	key->bytes[key->size + size] = '\0';
	key->size += size + 1;
}

/* ---- compilers */

struct order {
	int (*compile)(void *arg);
	void *arg;
	int ret;
	char *sentence;			/* the compiler thread's last error, which is thread-local */
};

static void run_order(void *arg)
{
	struct order *order = arg;

	order->ret = order->compile(order->arg);
	if (order->ret)
		order->sentence = strdup(adsm_last_error());
}

int adsm_compile_aside(int (*compile)(void *arg), void *arg)
{
	struct order order = { compile, arg, 0, NULL };
	struct adsm_thread thread;
	int ret = adsm_os_thread_start(&thread, "adsm-compiler", run_order, &order);

	if (ret)
		return adsm_fail(ret, "the thread that compiles a program cannot be started");
	adsm_os_thread_join(&thread);
	if (order.sentence)
		adsm_say_long("", order.sentence);
	free(order.sentence);
	return order.ret;
}
