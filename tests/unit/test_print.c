/* SPDX-License-Identifier: MIT */
/*
 * What a kernel prints comes as bytes of a memory that it can damage: whatever they are, the text is one, or there is
 * an error, and nothing is read or written beyond.
 */
#include "adsm_kernel.h"
#include "process/print.h"
#include "process/shared.h"

#include <stdlib.h>

#include "../check.h"

#define SIZE 300
#define ROUNDS 200000

static uint64_t state = 42;

static uint32_t pick(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* Two arguments of any kind, a format of what formats are made of, a string. */
static void fill(uint8_t *bytes, size_t size)
{
	static const char letters[] = "%%%%%%diouxXcspaAeEfFgGnlhjztL0123456789.*-+ #qy\n\0\377";

	for (size_t i = 0; i < 2; i++) {
		const struct adsm_process_print_arg arg = { pick(6) | (uint64_t)pick(12) << ADSM_PRINT_SIZE_SHIFT,
			pick(2) ? pick((uint32_t)size + 10) : (uint64_t)pick(~0u) << pick(40) };

		memcpy(bytes + i * sizeof(arg), &arg, sizeof(arg));
	}
	for (size_t i = 2 * sizeof(struct adsm_process_print_arg); i < size; i++)
		bytes[i] = (uint8_t)letters[pick(sizeof(letters) - 1)];
	if (pick(4))
		bytes[size - 1] = '\0';
}

static int format(uint64_t n_args, size_t size, size_t room)
{
	/* Of just that size, so that a sanitizer sees what is beyond. */
	uint8_t *bytes = malloc(size ? size : 1);
	char *text = malloc(room);
	int ret;

	CHECK(bytes && text);
	if (size >= 40)
		fill(bytes, size);
	else
		memset(bytes, 0, size);
	ret = adsm_process_format(bytes, size, n_args, true, text, room);
	CHECKF(ret == -EINVAL || ret == -E2BIG || (ret >= 0 && (size_t)ret <= room), "%d", ret);
	if (ret > 0)
		CHECK_EQ(text[ret - 1], '\n');
	free(bytes);
	free(text);
	return ret;
}

int main(void)
{
	static const uint64_t wrong[] = { 3, 19, 1000, UINT32_MAX, (uint64_t)1 << 60, UINT64_MAX };
	unsigned n_texts = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
		n_texts += format(pick(3), 40 + pick(i % 10 ? 20 : SIZE - 40), 2 + pick(5000)) > 0;
	CHECKF(n_texts > ROUNDS / 100, "%u", n_texts);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_EQ(format(wrong[i], 40, 100), -EINVAL);
	CHECK_EQ(format(0, 0, 100), -EINVAL);
	CHECK_EQ(format(0, 1, 100), 0);
	CHECK_EQ(format(1, 16, 100), -EINVAL);
	CHECK_EQ(format(1, 17, 100), 0);
	return 0;
}
