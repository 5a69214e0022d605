/* SPDX-License-Identifier: MIT */
/* cpu/options.c - rows of the options of the cpu backend. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "list.h"

struct adsm_cpu_options adsm_cpu_options;

/* Scan a decimal fraction and its unit. The value is in thousandths of @units[0]; each unit is 1000 times the one
 * before. */
static int scan_unit(const char **text, const char *const units[3], uint64_t *ret_value)
{
	uint64_t value, digit = 1000;

	if (adsm_scan_digits(text, 10, &value) || value > UINT32_MAX)
		return -EINVAL;
	value *= 1000;
	if (**text == '.')
		while (isdigit((unsigned char)*++*text))
			value += (uint64_t)(**text - '0') * (digit /= 10);
	for (int i = 0; i < 3; i++, value *= 1000) {
		size_t n = strlen(units[i]);

		if (strncmp(*text, units[i], n))
			continue;
		*text += n;
		*ret_value = value;
		return 0;
	}
	return -EINVAL;
}

static int parse_link(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	static const char *const rates[] = { "KB/s", "MB/s", "GB/s" };
	static const char *const times[] = { "ns", "us", "ms" };
	uint64_t rate = 0, time = 0;

	if (strcmp(text, row->zero)) {
		if (scan_unit(&text, rates, &rate) || !rate)
			return -EINVAL;
		if (*text == ',' && (text++, scan_unit(&text, times, &time)))
			return -EINVAL;
		if (*text)
			return -EINVAL;
	}
	ret_value[0] = rate;
	ret_value[1] = time / 1000;
	return 0;
}

struct adsm_option adsm_cpu_rows[] = {
	{ "CPU_MEMORY", "discrete", "discrete, unified",
	  "cpu device: memory of the device; discrete: its own; unified: the program's, and the library copies "
	  "nothing",
	  ADSM_FIELD(adsm_cpu_options.unified), adsm_parse_index, .class = "cpu" },
	{ "CPU_MEMORY_SIZE", "auto", "auto, or bytes up to 65536G",
	  "cpu device: bytes of device memory; auto: half of the available memory, divided among all cpu devices",
	  ADSM_FIELD(adsm_cpu_options.memory_size), adsm_parse_number, 0, (uint64_t)1 << 46, .zero = "auto",
	  .class = "cpu" },
	{ "CPU_THREADS", "auto", "auto, or a number from 1 to 1024",
	  "cpu device: number of worker threads; auto: one for each processor",
	  ADSM_FIELD(adsm_cpu_options.threads), adsm_parse_number, 1, 1024, .zero = "auto", .class = "cpu" },
	{ "CPU_DEVICES", "1", "a number from 1 to 8",
	  "cpu device: number of devices",
	  ADSM_FIELD(adsm_cpu_options.devices), adsm_parse_number, 1, ADSM_MAX_DEVICES,
	  .class = "cpu", .expert = true },
	{ "CPU_LINK", "off", "off, or bandwidth[,latency] such as 3GB/s,10us",
	  "cpu device: bandwidth and latency of a bus that the device simulates; off: no bus",
	  ADSM_FIELD(adsm_cpu_options.link), parse_link, .zero = "off", .class = "cpu", .expert = true },
	{ "CPU_DEVICE", "auto", "auto, or a file",
	  "cpu device: file of the device's program; auto: the program installed with the library",
	  ADSM_FIELD(adsm_cpu_options.device), adsm_parse_text, .zero = "auto", .class = "cpu", .expert = true },
	{ 0 }
};
