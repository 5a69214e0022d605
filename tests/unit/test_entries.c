/* SPDX-License-Identifier: MIT */
/* test_entries.c - descriptions of kernels in CUDA C; hashes; what processors have in common. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "adsm_kernel.h"
#include "base/entries.h"
#include "base/module.h"
#include "base/processor.h"
#include "base/sha256.h"

#include "../check.h"

static const char good[] =
	"entries 1 code 2\n"
	"kernel scale _Z5scalePfi 1 256 64 3 1\n"
	"param p0 void 1 3 1\n"
	"param p1 u32 2 0 4 more words\n"
	"param shared char 5 0 1\n"
	"param 0 variable 7 1 32\n"
	"kernel none none 12 1024 0 0 0 more words\n";

static void test_good(void)
{
	struct adsm_module_info info = { .entries = good };
	const struct adsm_kernel_info *kernel;
	unsigned level;

	info.n_kernels = (size_t)adsm_entries_count(good, &(size_t){ 0 });
	CHECK_EQ(info.n_kernels, 2);
	info.kernels = calloc(2, sizeof(*info.kernels));
	info.params = calloc(4, sizeof(*info.params));
	CHECK(!adsm_entries_read(good, info.n_kernels, info.kernels, info.params, &level));
	CHECK_EQ(level, 2);
	kernel = &info.kernels[0];
	CHECK(!strcmp(kernel->name, "scale"));
	CHECK_EQ(kernel->full_size, strlen("_Z5scalePfi"));
	CHECK(!memcmp(kernel->full, "_Z5scalePfi", kernel->full_size));
	CHECK_EQ(kernel->max_threads, 256);
	CHECK_EQ(kernel->shared_size, 64);
	CHECK_EQ(kernel->n_params, 3);
	CHECK_EQ(kernel->n_variables, 1);
	CHECK(!kernel->global_atomics && !kernel->services && !kernel->any_object && !kernel->task);
	CHECK(kernel->params[0].kind == ADSM_ARG_POINTER && kernel->params[0].access == ADSM_ACCESS_INOUT);
	CHECK(!strcmp(kernel->params[1].type, "u32") && kernel->params[1].size == 4);
	CHECK(kernel->params[2].kind == ADSM_ARG_LOCAL && kernel->params[3].kind == ADSM_PARAM_VARIABLE);
	CHECK(!strncmp(kernel->entry, "kernel scale ", 13) && kernel->entry[kernel->entry_size - 1] == '\n');
	CHECK(kernel->entry + kernel->entry_size == info.kernels[1].entry);
	kernel = &info.kernels[1];
	CHECK(kernel->global_atomics && kernel->services && kernel->any_object);
	CHECK(!kernel->n_params && !kernel->n_variables);
	CHECK_EQ(adsm_module_find(&info, "scale"), 0);
	CHECK_EQ(adsm_module_find(&info, "_Z5scalePfi"), 0);
	CHECK_EQ(adsm_module_find(&info, "none"), 1);
	CHECK_EQ(adsm_module_find(&info, "_Z5scale"), -1);
	CHECK_EQ(adsm_module_find(&info, ""), -1);
	free(info.kernels);
	free(info.params);
}

static void check_bad(const char *text)
{
	size_t n_params;

	CHECKF(adsm_entries_count(text, &n_params) == -1, "%s", text);
}

static void test_bad(void)
{
	static char text[2 * ADSM_ENTRY_NAME_MAX];
	size_t n_params;

	check_bad("");
	check_bad("entries 2 code\n");
	check_bad("entries 1 other\n");
	check_bad("entries 1 code");
	check_bad("entries 1 code x\n");
	check_bad("entries 1 code 32\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 1 0\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 0 0");
	check_bad("entries 1 code\nkernel a a 0 1 0 0\n");
	check_bad("entries 1 code\nkernel a a 0 0 0 0 0\n");
	check_bad("entries 1 code\nkernel a a x 1 0 0 0\n");
	check_bad("entries 1 code\nkernel a a -1 1 0 0 0\n");
	check_bad("entries 1 code\nkernel  a 0 1 0 0 0\n");
	check_bad("entries 1 code\nkernel a a 0 1 99999999999999999999 0 0\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 257 0\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 0 257\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 1 0\nparam p u32 6 0 4\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 1 0\nparam p u32 2 4 4\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 1 0\nparam p u32 2 0\n");
	check_bad("entries 1 code\nkernel a a 0 1 0 1 0\nparam p12345678901234567890123456789012 u32 2 0 4\n");
	check_bad("entries 1 code\nother\n");
	for (size_t size = 0; size < strlen(good); size++) {
		snprintf(text, sizeof(text), "%.*s", (int)size, good);
		if (size != strlen("entries 1 code 2\n") && size != strlen(good) - strlen(strstr(good, "kernel none")))
			check_bad(text);
	}
	for (int size = ADSM_ENTRY_NAME_MAX; size <= ADSM_ENTRY_NAME_MAX + 1; size++) {
		snprintf(text, sizeof(text), "entries 1 ptx\nkernel a %0*d 0 1 0 0 0\n", size, 0);
		CHECK_EQ(adsm_entries_count(text, &n_params), size == ADSM_ENTRY_NAME_MAX ? 1 : -1);
	}
}

/* The examples of FIPS 180-4, and lengths around a block's. */
static void test_hash(void)
{
	static const struct { const char *text, *hash; } cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t hash[ADSM_SHA256_SIZE];
		char text[2 * ADSM_SHA256_SIZE + 1];

		adsm_sha256(cases[i].text, strlen(cases[i].text), hash);
		for (size_t b = 0; b < sizeof(hash); b++)
			snprintf(text + 2 * b, 3, "%02x", hash[b]);
		CHECKF(!strcmp(text, cases[i].hash), "%s: %s", cases[i].text, text);
	}
}

static void test_processor(void)
{
	const unsigned levels = adsm_processor_levels();

	/* Each level has the lower ones. */
	CHECK(!(levels & (levels + 1)));
	CHECK(!strcmp(adsm_processor_option(0), ""));
	CHECK(!levels || !strncmp(adsm_processor_option(levels), "-march=", 7));
	/* A bit without the lower ones does not count. */
	CHECK(!strcmp(adsm_processor_option(2), ""));
#if defined(__x86_64__)
	CHECK(!strcmp(adsm_processor_option(1), "-march=x86-64-v2"));
	CHECK(!strcmp(adsm_processor_option(3), "-march=x86-64-v3"));
	CHECK(!strcmp(adsm_processor_option(7 & 3), "-march=x86-64-v3"));
	CHECK(!strcmp(adsm_processor_option(~0u), "-march=x86-64-v4"));
#endif
}

int main(void)
{
	test_good();
	test_bad();
	test_hash();
	test_processor();
	return 0;
}
