/* SPDX-License-Identifier: MIT */
/*
 * test_image.c - images that are damaged are refused, and what is not refused can be used: 10,000 changes of each kind.
 * In a second round the checksum is made right again, so that what is behind it is seen, too; code that was changed is
 * not run. Images are at the end of memory of their own size: sanitizers see what is read behind it.
 */
#include "../check.h"

#include <stdlib.h>

#include "scratchpad/device/partition.h"
#include "scratchpad/device/partition_call.h"

#define ROUNDS 10000

static uint64_t random_state = 42;

static uint64_t random_word(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t random_below(size_t n)
{
	return (size_t)(random_word() % n);
}

static void fail(void *context, const char *text)
{
	FAIL("%s", text);
}

static void *resolve(void *context, const char *name)
{
	return strlen(name) < 1000 ? context : NULL;
}

/* All that a device does with an image, but running its code. */
static void use(const struct adsm_image *image)
{
	struct adsm_partition_config config = {
		.image = image, .n_buffers = 2, .victim = true, .resolve = resolve, .fail = fail, .context = &config,
	};
	char text[ADSM_PARTITION_TEXT];
	struct adsm_partitions *partitions;

	for (uint32_t i = 0; i < image->header->n_symbols; i++)
		adsm_image_find(image, adsm_image_name(image, i));
	if (adsm_partition_create(&config, &partitions, text))
		FAIL("%s", text);
	for (uint32_t i = 1; i <= image->header->n_partitions; i++)
		adsm_partition_load(partitions, i, i % 2);
	for (uint32_t i = 0; i < image->header->n_symbols; i++) {
		uint8_t *at = adsm_partition_function(partitions, adsm_image_name(image, i));

		if (at)
			CHECK(at[0] || true);
	}
	adsm_partition_destroy(partitions);
}

/* Words that numbers in images turn into. */
static uint32_t random_number(uint32_t was)
{
	static const uint32_t words[] = { 0, 1, 63, 64, 0x3ffff, 0x40000, 0x7fffffff, 0x80000000, 0xffffffc0,
					  0xffffffff };

	switch (random_below(4)) {
	case 0:
		return words[random_below(sizeof(words) / sizeof(words[0]))];
	case 1:
		return was + (uint32_t)random_below(129) - 64;
	case 2:
		return was ^ 1u << random_below(32);
	default:
		return (uint32_t)random_word();
	}
}

/* Change something of what is before @limit; returns the new size. */
static size_t change(uint8_t *bytes, size_t size, size_t limit)
{
	const size_t at = random_below(limit), word = random_below(limit / 4) * 4;
	uint32_t was;

	switch (random_below(8)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << random_below(8));
		break;
	case 1:
		bytes[at] = (uint8_t)(bytes[at] + 1 + random_below(255));
		break;
	case 2:
		return size ? random_below(size) : 0;
	case 3:
		for (size_t i = at; i < limit && i < at + 16; i++)
			bytes[i] = (uint8_t)random_word();
		bytes[at] ^= 1;
		break;
	default:
		memcpy(&was, bytes + word, 4);
		was = random_number(was);
		memcpy(bytes + word, &was, 4);
		break;
	}
	return size;
}

static int check_copy(const uint8_t *bytes, size_t size, bool repaired)
{
	/* No byte longer. */
	uint8_t *exact = malloc(size ? size : 1);
	struct adsm_image image;
	char text[ADSM_PARTITION_TEXT] = "";
	int ret;

	CHECK(exact);
	memcpy(exact, bytes, size);
	ret = adsm_image_check(exact, size, &image, text, sizeof(text));
	CHECK(!ret == !text[0] && (!ret || ret == -ENOEXEC || ret == -ENOTSUP));
	if (!ret && repaired)
		use(&image);
	free(exact);
	return ret;
}

/* Where code begins: what is before it can be wrong, all else is anybody's. */
static size_t tables_size(const struct adsm_image *image)
{
	return (size_t)((const uint8_t *)image->names - image->bytes) + image->header->names_size;
}

static void repair(uint8_t *bytes, size_t size, bool fit)
{
	struct adsm_image_header *header = (struct adsm_image_header *)(void *)bytes;

	if (size < sizeof(*header))
		return;
	if (fit)
		header->size = (uint32_t)size;
	header->checksum = adsm_image_checksum(bytes, size);
}

static void test_changes(const uint8_t *good, size_t size, size_t tables)
{
	uint8_t *bytes = malloc(size);
	unsigned accepted = 0;

	CHECK(bytes);
	for (int round = 0; round < ROUNDS; round++) {
		size_t changed;

		memcpy(bytes, good, size);
		changed = change(bytes, size, size);
		if (changed == size && !memcmp(bytes, good, size))
			continue;
		CHECKF(check_copy(bytes, changed, false), "round %d", round);
	}
	for (int round = 0; round < ROUNDS; round++) {
		size_t changed = size;

		memcpy(bytes, good, size);
		for (size_t n = random_below(4); n < 4; n++)
			changed = change(bytes, changed, changed < tables ? changed | 8 : tables);
		repair(bytes, changed, round & 1);
		accepted += !check_copy(bytes, changed, true);
	}
	/* Names can be any, and places in code. */
	CHECK(accepted > ROUNDS / 100 && accepted < ROUNDS / 2);
	free(bytes);
}

static void test_sizes(const uint8_t *good, size_t size, size_t tables)
{
	uint8_t *bytes = malloc(size + 64);

	CHECK(bytes);
	memcpy(bytes, good, size);
	memset(bytes + size, 0, 64);
	for (size_t n = 0; n < size; n += n < tables ? 1 : 37) {
		memcpy(bytes, good, sizeof(struct adsm_image_header));
		CHECK(check_copy(bytes, n, false));
		repair(bytes, n, true);
		CHECK(check_copy(bytes, n, false));
	}
	memcpy(bytes, good, sizeof(struct adsm_image_header));
	CHECK(!check_copy(bytes, size, true));
	repair(bytes, size + 64, true);
	CHECK(check_copy(bytes, size + 64, false));
	free(bytes);
}

static void expect(const uint8_t *good, size_t size, size_t at, uint32_t word, int error, const char *part)
{
	uint8_t *bytes = malloc(size);
	struct adsm_image image;
	char text[ADSM_PARTITION_TEXT];

	CHECK(bytes);
	memcpy(bytes, good, size);
	memcpy(bytes + at, &word, sizeof(word));
	repair(bytes, size, false);
	CHECK_EQ(adsm_image_check(bytes, size, &image, text, sizeof(text)), error);
	CHECKF(strstr(text, part), "'%s' has no '%s'", text, part);
	free(bytes);
}

int main(int argc, char **argv)
{
	static _Alignas(64) uint8_t good[1 << 20];
	FILE *file = fopen(argv[1], "r");
	const size_t size = file ? fread(good, 1, sizeof(good), file) : 0;
	struct adsm_image image;
	char text[ADSM_PARTITION_TEXT];

	CHECKF(!adsm_image_check(good, size, &image, text, sizeof(text)), "%s", text);
	fclose(file);
	use(&image);
	CHECK_EQ(adsm_image_check(good + 4, size - 4, &image, text, sizeof(text)), -ENOEXEC);
	CHECK_OK(adsm_image_check(good, size, &image, text, sizeof(text)));
	expect(good, size, 0, 0x464c457f, -ENOEXEC, "not an image of partitions");
	expect(good, size, 8, 2, -ENOTSUP, "version 2");
	expect(good, size, 12, 3, -ENOTSUP, "for machine 3,");
	expect(good, size, 28, 0x4000, -ENOEXEC, "16384 partitions");
	expect(good, size, 60, 1, -ENOEXEC, "a reserved field");
	expect(good, size, 64 + 8, 1, -ENOEXEC, "partition 1 ");
	expect(good, size, 64 + 12, ADSM_IMAGE_MAX_SIZE + 1, -ENOEXEC, "partition 1 ");
	expect(good, size, (size_t)((const uint8_t *)image.functions - good), 0xffffffff, -ENOEXEC, "symbol 0 ");
	expect(good, size, (size_t)((const uint8_t *)image.functions - good),
	       adsm_image_symbol(1, image.partitions[1].size + 1), -ENOEXEC, "symbol 0 ");
	expect(good, size, (size_t)((const uint8_t *)image.slots - good), 1, -ENOEXEC, "slot 0 ");
	expect(good, size, (size_t)((const uint8_t *)image.slots - good) + 8, 4, -ENOEXEC, "slot 1 ");
	test_sizes(good, size, tables_size(&image));
	test_changes(good, size, tables_size(&image));
	return 0;
}
