/* SPDX-License-Identifier: MIT */
/* test_options.c - the values that the option table accepts, its errors, and which source wins. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "base/log.h"
#include "core/options.h"
#include "protocols/list.h"
#include "engine/engine.h"
#include "observe/options.h"
#include "start/options.h"
#include "cluster/options.h"
#include "cpu/options.h"
#include "cuda/options.h"
#include "backend.h"

/* Load with one variable set, and nothing else. */
static int load_with(const char *name, const char *value)
{
	int ret;

	setenv(name, value, 1);
	ret = adsm_options_load();
	unsetenv(name);
	return ret;
}

static bool refused(const char *name, const char *value, const char *message)
{
	int ret = load_with(name, value);

	if (ret == -EINVAL && !strcmp(adsm_last_error(), message))
		return true;
	fprintf(stderr, "%s=%s: %d, \"%s\"\n", name, value, ret, adsm_last_error());
	return false;
}

static void defaults(void)
{
	CHECK(!adsm_options_load());
	CHECK(!strcmp(adsm_protocol_options.protocol, "rolling"));
	CHECK(adsm_protocol_options.block_size == 64 << 10);
	CHECK(adsm_protocol_options.rolling_size == ADSM_ROLLING_AUTO);
	CHECK(adsm_protocol_options.fault_ahead == 2 << 20);
	CHECK(adsm_protocol_options.evict_batch == 2 << 20);
	CHECK(!strcmp(adsm_backend_options.name, "auto"));
	CHECK(!strcmp(adsm_backend_options.wrap, ""));
	CHECK(adsm_core_options.touch == ADSM_TOUCH_WAIT);
	CHECK(!adsm_paper);
	adsm_engine_choose();
	CHECK(!strcmp(adsm_engine->name, "sigsegv"));
	CHECK(!strcmp(adsm_observe_options.stats, ""));
	CHECK(!adsm_core_options.arena.address && !adsm_core_options.arena.size);
	CHECK(!adsm_cpu_options.memory_size && !adsm_cpu_options.threads);
	CHECK(adsm_cpu_options.devices == 1 && !adsm_cpu_options.unified);
	CHECK(!adsm_cpu_options.link.bandwidth && !adsm_cpu_options.link.latency_ns);
	CHECK(!strcmp(adsm_cpu_options.device, ""));
	CHECK(adsm_log_level == ADSM_LOG_WARN);
}

static void values(void)
{
	CHECK(!load_with("ADSM_PROTOCOL", "lazy") && !strcmp(adsm_protocol_options.protocol, "lazy"));
	CHECK(!load_with("ADSM_PROTOCOL", "") && !strcmp(adsm_protocol_options.protocol, "rolling"));
	CHECK(!load_with("ADSM_BLOCK_SIZE", "4096") && adsm_protocol_options.block_size == 4096);
	CHECK(!load_with("ADSM_BLOCK_SIZE", "2m") && adsm_protocol_options.block_size == 2 << 20);
	CHECK(!load_with("ADSM_BLOCK_SIZE", "1G") && adsm_protocol_options.block_size == 1 << 30);
	CHECK(!load_with("ADSM_ROLLING_SIZE", "7") && adsm_protocol_options.rolling_size == 7);
	CHECK(!load_with("ADSM_FAULT_AHEAD", "0") && adsm_protocol_options.fault_ahead == 0);
	CHECK(!load_with("ADSM_EVICT_BATCH", "1") && adsm_protocol_options.evict_batch == 1);
	CHECK(!load_with("ADSM_TOUCH", "error") && adsm_core_options.touch == ADSM_TOUCH_ERROR);
	CHECK(!load_with("ADSM_STATS", "json:out") && !strcmp(adsm_observe_options.stats, "json:out"));
	CHECK(!load_with("ADSM_STATS", "text:on") && !strcmp(adsm_observe_options.stats, "text:on"));
	CHECK(!load_with("ADSM_STATS", "text") && !strcmp(adsm_observe_options.stats, "text"));
	CHECK(!load_with("ADSM_STATS", "off") && !*adsm_observe_options.stats);
	CHECK(!load_with("ADSM_CPU_MEMORY", "unified") && adsm_cpu_options.unified);
	CHECK(!load_with("ADSM_CPU_MEMORY_SIZE", "8G") && adsm_cpu_options.memory_size == 8ull << 30);
	CHECK(!load_with("ADSM_CPU_LINK", "3GB/s,10us") &&
	      adsm_cpu_options.link.bandwidth == 3000000000 && adsm_cpu_options.link.latency_ns == 10000);
	CHECK(!load_with("ADSM_CPU_LINK", "1.25MB/s,2ms") &&
	      adsm_cpu_options.link.bandwidth == 1250000 && adsm_cpu_options.link.latency_ns == 2000000);
	CHECK(!load_with("ADSM_CPU_LINK", "12.5GB/s") &&
	      adsm_cpu_options.link.bandwidth == 12500000000 && !adsm_cpu_options.link.latency_ns);
	CHECK(!load_with("ADSM_ARENA", "0x110000000000,1G") &&
	      adsm_core_options.arena.address == 0x110000000000 && adsm_core_options.arena.size == 1 << 30);
	CHECK(!load_with("ADSM_ARENA", "0x7e8000000000,64G") &&
	      adsm_core_options.arena.address == 0x7e8000000000 && adsm_core_options.arena.size == (size_t)64 << 30);
	CHECK(!load_with("ADSM_ARENA", "auto,64M") &&
	      !adsm_core_options.arena.address && adsm_core_options.arena.size == 64 << 20);
	/* Both ends of what may be set. */
	CHECK(!load_with("ADSM_ARENA", "0x800000000000,131072G") &&
	      adsm_core_options.arena.address == (uintptr_t)1 << 47 && adsm_core_options.arena.size == (size_t)1 << 47);
	CHECK(!load_with("ADSM_ARENA", "auto,1M") && adsm_core_options.arena.size == 1 << 20);
	CHECK(!load_with("ADSM_LOG", "debug") && adsm_log_level == ADSM_LOG_DEBUG);
	CHECK(!load_with("ADSM_LOG", "silent") && adsm_log_level == ADSM_LOG_SILENT);
}

static void refusals(void)
{
	static const char *const sizes[] = { "100", "-1", "1T", "2048", "2G", "64K ", "", "99999999999999999999",
					     "18014398509481984K", "K", "+4096", "0" };
	static const char *const links[] = { "3", "3GB", "0GB/s", "GB/s", "3GB/s,", "3GB/s,10", "3GB/s,10us,",
					     "-3GB/s" };
	static const char *const arenas[] = { "0x1001", "here", "0x10000000,1K", "0x10000000,", "auto,0", "auto64M",
					      "-4096", "0x800000001000", "auto,131073G", "auto,1025K" };
	static const char *const stats[][2] = {
		{ "1", "" }, { "on", "" }, { "true", "" }, { "TEXT", " (did you mean text?)" }, { "json:", "" },
		{ "text:", " (did you mean text?)" }, { "jsn:FILE", " (did you mean json:FILE?)" },
		{ "out.json", " (did you mean json:out.json?)" }, { "/tmp/report",
		  " (did you mean json:/tmp/report?)" },
	};
	char message[256];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(message, sizeof(message),
			 "ADSM_BLOCK_SIZE=%s is not valid; valid: a power of two from 4K to 1G", sizes[i]);
		CHECK(!*sizes[i] || refused("ADSM_BLOCK_SIZE", sizes[i], message));
		CHECK(adsm_options_set("block_size", sizes[i]) == -EINVAL && !strcmp(adsm_last_error(), message));
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		CHECK(load_with("ADSM_CPU_LINK", links[i]) == -EINVAL);
	for (size_t i = 0; i < sizeof(arenas) / sizeof(*arenas); i++)
		CHECK(load_with("ADSM_ARENA", arenas[i]) == -EINVAL);
	CHECK(refused("ADSM_PROTOCOL", "rollin",
		      "ADSM_PROTOCOL=rollin is not valid; valid: batch, lazy, rolling (did you mean rolling?)"));
	CHECK(refused("ADSM_PROTOCOL", "mesi", "ADSM_PROTOCOL=mesi is not valid; valid: batch, lazy, rolling"));
	CHECK(refused("ADSM_CPU_DEVICES", "9", "ADSM_CPU_DEVICES=9 is not valid; valid: a number from 1 to 8"));
	CHECK(refused("ADSM_LOG", "verbose",
		      "ADSM_LOG=verbose is not valid; valid: silent, error, warn, info, debug"));
	for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++) {
		snprintf(message, sizeof(message),
			 "ADSM_STATS=%s is not valid; valid: off, text, text:FILE or json:FILE%s", stats[i][0],
			 stats[i][1]);
		CHECK(refused("ADSM_STATS", stats[i][0], message));
	}
	CHECK(load_with("ADSM_ROLLING_SIZE", "0") == -EINVAL);
	CHECK(load_with("ADSM_PROTOCOL", "rolling,") == -EINVAL);
}

static void paper(void)
{
	CHECK(!load_with("ADSM_PAPER", "1"));
	CHECK(adsm_paper && adsm_protocol_options.fault_ahead == 0 && adsm_protocol_options.evict_batch == 1);
	setenv("ADSM_PAPER", "1", 1);
	CHECK(!load_with("ADSM_FAULT_AHEAD", "0"));
	/* Words, too, which are compared as such. */
	CHECK(!load_with("ADSM_CLUSTER_UPDATE", "threshold") && !strcmp(adsm_cluster_options.update, "threshold"));
	CHECK(!load_with("ADSM_CLUSTER_EXCHANGE", "bcast") && !load_with("ADSM_CLUSTER_TRACKER", "sigsegv"));
	CHECK(!strcmp(adsm_cluster_options.tracker, "sigsegv"));
	CHECK(refused("ADSM_CLUSTER_UPDATE", "lazy",
		      "ADSM_PAPER=1 and ADSM_CLUSTER_UPDATE=lazy contradict each other: the paper's value is "
		      "threshold"));
	CHECK(refused("ADSM_FAULT_AHEAD", "1M",
		      "ADSM_PAPER=1 and ADSM_FAULT_AHEAD=1M contradict each other: the paper's value is 0"));
	CHECK(refused("ADSM_EVICT_BATCH", "64K",
		      "ADSM_PAPER=1 and ADSM_EVICT_BATCH=64K contradict each other: the paper's value is 1"));
	unsetenv("ADSM_PAPER");
}

/* What the program sets wins, and stays. */
static void set(void)
{
	CHECK(adsm_options_set("blok_size", "4K") == -EINVAL &&
	      !strcmp(adsm_last_error(), "blok_size is not an option (did you mean BLOCK_SIZE?)"));
	CHECK(adsm_options_set("adsm_option_with_a_very_long_name_indeed", "1") == -EINVAL);
	CHECK(adsm_options_set("protocol", "eager") == -EINVAL);
	CHECK(!adsm_options_set("protocol", "batch"));
	CHECK(!adsm_options_set("Block-Size", "8K"));
	CHECK(!load_with("ADSM_PROTOCOL", "lazy"));
	CHECK(!strcmp(adsm_protocol_options.protocol, "batch") && adsm_protocol_options.block_size == 8192);
	CHECK(!adsm_options_set("protocol", "rolling"));
	CHECK(!adsm_options_load() && !strcmp(adsm_protocol_options.protocol, "rolling"));
}

static void *load_often(void *arg)
{
	for (int i = 0; i < 100; i++)
		CHECK(!adsm_options_load() && adsm_cuda_options.cache == arg);
	return NULL;
}

/* Several threads may load: what says the same as before stays in place for those that read it. */
static void again(void)
{
	pthread_t threads[4];

	setenv("ADSM_CUDA_CACHE", "/a/folder", 1);
	CHECK(!adsm_options_load());
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, load_often, (void *)(uintptr_t)adsm_cuda_options.cache));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!strcmp(adsm_cuda_options.cache, "/a/folder"));
	unsetenv("ADSM_CUDA_CACHE");
	CHECK(!adsm_options_load() && !*adsm_cuda_options.cache);
}

static atomic_bool stop;

static void *set_often(void *unused)
{
	for (unsigned i = 0; !stop; i++)
		CHECK(!adsm_options_set("protocol", i % 2 ? "batch" : "lazy"));
	return NULL;
}

/* A child starts with the locks as they were; where it waits for ever, so does this. */
static void forks(void)
{
	pthread_t thread;
	int pid, status;

	CHECK(!pthread_create(&thread, NULL, set_often, NULL));
	for (int i = 0; i < 200; i++) {
		pid = fork();
		if (pid == 0)
			_exit(adsm_options_set("protocol", "rolling") || adsm_options_load() ||
			      strcmp(adsm_protocol_options.protocol, "rolling"));
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	}
	stop = true;
	CHECK(!pthread_join(thread, NULL));
}

/* Standard error goes to a file; what was written there is compared, then forgotten. */
static bool said(FILE *file, const char *text)
{
	char buffer[1024] = "";
	bool same;

	rewind(file);
	buffer[fread(buffer, 1, sizeof(buffer) - 1, file)] = '\0';
	same = *text ? strstr(buffer, text) != NULL : !*buffer;
	if (ftruncate(fileno(file), 0))
		same = false;
	rewind(file);
	lseek(STDERR_FILENO, 0, SEEK_SET);
	if (!same)
		printf("said \"%s\", not \"%s\"\n", buffer, text);
	return same;
}

static int unknown(void)
{
	int bad = 0, old = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	if (!file || old < 0 || dup2(fileno(file), STDERR_FILENO) < 0)
		return 1;
	bad += load_with("ADSM_BLOCKSIZE", "4K") ||
	       !said(file, "ADSM_BLOCKSIZE is not an option (did you mean ADSM_BLOCK_SIZE?)");
	bad += load_with("ADSM_BLOCKSIZE", "4K") || !said(file, "");
	bad += !load_with("ADSM_TOUCH", "fail") || !said(file, "ADSM_TOUCH=fail is not valid");
	setenv("ADSM_LOG", "silent", 1);
	bad += !load_with("ADSM_TOUCH", "fail") || !said(file, "");
	unsetenv("ADSM_LOG");
	fclose(file);
	dup2(old, STDERR_FILENO);
	close(old);
	return bad;
}

int main(void)
{
	/* The environment of the tests may set options. */
	for (char **e = environ; *e;) {
		char name[64] = "";

		if (!strncmp(*e, "ADSM_", 5)) {
			strncpy(name, *e, sizeof(name) - 1);
			name[strcspn(name, "=")] = '\0';
			unsetenv(name);
			e = environ;
		} else {
			e++;
		}
	}
	CHECK(!unknown());
	defaults();
	values();
	refusals();
	paper();
	set();
	again();
	forks();
	return 0;
}
