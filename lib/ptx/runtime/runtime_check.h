/* SPDX-License-Identifier: MIT */
/*
 * runtime_check.h - checks of accesses, in modules that adsmcc --check makes of PTX. This text follows runtime_calls.h.
 * The first problem ends the kernel.
 */
#ifdef PTX_CHECK
enum { PTX_LOAD, PTX_STORE, PTX_ATOMIC };

static const char *const ptx_access_names[] = { "a load", "a store", "an atomic operation" };
static const char *const ptx_shared_names[] = { "a load of", "a store to", "an atomic operation on" };

PTX_INLINE uint64_t ptx_value(const char *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* Shared memory: @n elements of @size bytes. */
static void ptx_check_shared(const struct ptx_block *k, uint32_t t, const char *p, uint32_t size, uint32_t n, int what,
			     uint64_t of, const char *place)
{
	const int64_t at = (int64_t)((uintptr_t)p - (uintptr_t)k->sh), bytes = (int64_t)size * n;
	char text[700];

	(void)of;
	if (at < 0 || at > (int64_t)k->check_size - bytes) {
		const int64_t first = at >= 0 && at < (int64_t)k->check_size ? (int64_t)k->check_size : at;

		snprintf(text, sizeof(text), "%s %lld bytes %s the %u bytes of the block's shared memory, at %s",
			 ptx_access_names[what], (long long)(at < 0 ? -at : first - (int64_t)k->check_size),
			 at < 0 ? "before" : "behind the end of", k->check_size, place);
		ptx_report(k, t, text);
	}
	for (int64_t i = at; what != PTX_STORE && i < at + bytes; i += size) {
		uint8_t any = 0;

		/* The compiler copies structures with the unused bytes between their members. */
		for (uint32_t j = 0; j < size; j++)
			any |= k->written[i + j];
		if (any)
			continue;
		snprintf(text, sizeof(text), "%s shared memory that no thread of the block has written, byte %lld "
			 "of %u, at %s", ptx_shared_names[what], (long long)i, k->check_size, place);
		ptx_report(k, t, text);
	}
	if (what != PTX_LOAD)
		memset(k->written + at, 1, (size_t)bytes);
}

/* @of: the value of the parameter that the address is made of, 0: not known. */
static void ptx_check_global(const struct ptx_block *k, uint32_t t, const char *p, uint32_t size, uint32_t n, int what,
			     uint64_t of, const char *place)
{
	const struct adsm_kernel_services *services = &adsm_services_here;
	char text[700], why[256];

	if (!services || services->size < sizeof(*services) ||
	    services->inside((uint64_t)(uintptr_t)p, (size_t)size * n, of, why, sizeof(why)))
		return;
	snprintf(text, sizeof(text), "%s %s, at %s", ptx_access_names[what], why, place);
	ptx_report(k, t, text);
}

static void ptx_check_generic(const struct ptx_block *k, uint32_t t, const char *p, uint32_t size, uint32_t n, int what,
			      uint64_t of, const char *place)
{
	if ((uint64_t)(uintptr_t)p - (uint64_t)(uintptr_t)k->sh < k->shared_size)
		ptx_check_shared(k, t, p, size, n, what, of, place);
	else
		ptx_check_global(k, t, p, size, n, what, of, place);
}
#endif
