/* SPDX-License-Identifier: MIT */
/* log.c - messages, the last error of each thread, and a formatter that neither allocates nor locks. */
#include "base/log.h"

#include "base/os.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADVICE_MAX 10	/* maximum lines of advice in a process */
#define ROOMS 31	/* rooms for last errors that are allocated at a time: 16 KiB */

enum adsm_log_level adsm_log_level = ADSM_LOG_WARN;

/* ---- the formatter */

struct text {
	char *buffer;
	size_t size, length;	/* length: including what did not fit */
};

static void put_char(struct text *text, char c)
{
	if (text->length + 1 < text->size)
		text->buffer[text->length] = c;
	text->length++;
}

static void put_string(struct text *text, const char *s, int most)
{
	for (s = s ? s : "(null)"; most-- && *s; s++)
		put_char(text, *s);
}

static void put_number(struct text *text, uint64_t value, unsigned base)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (n)
		put_char(text, digits[--n]);
}

static int format_text(char *buffer, size_t size, const char *format, va_list args)
{
	struct text text = { buffer, size, 0 };

	for (; *format; format++) {
		bool wide = false;
		int64_t number;
		int most = -1;

		if (*format != '%') {
			put_char(&text, *format);
			continue;
		}
		format++;
		if (format[0] == '.' && format[1] == '*') {
			most = va_arg(args, int);
			format += 2;
		}
		while (*format == 'l' || *format == 'z') {
			wide = true;	/* long and size_t are both 64 bits here */
			format++;
		}
		switch (*format) {
		case 's':
			put_string(&text, va_arg(args, const char *), most);
			break;
		case 'c':
			put_char(&text, (char)va_arg(args, int));
			break;
		case 'd':
			number = wide ? va_arg(args, long) : va_arg(args, int);
			if (number < 0)
				put_char(&text, '-');
			put_number(&text, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
			break;
		case 'u':
		case 'x':
			put_number(&text, wide ? va_arg(args, unsigned long) : va_arg(args, unsigned),
				   *format == 'u' ? 10 : 16);
			break;
		case 'p':
			put_string(&text, "0x", -1);
			put_number(&text, (uintptr_t)va_arg(args, void *), 16);
			break;
		case '%':
			put_char(&text, '%');
			break;
		default:	/* an unknown conversion: the following arguments cannot be located, so stop here */
			put_string(&text, "%?", -1);
			goto end;
		}
	}
end:
	if (size)
		buffer[text.length < size ? text.length : size - 1] = '\0';
	return (int)text.length;
}

int adsm_format(char *buffer, unsigned long size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = format_text(buffer, size, format, args);
	va_end(args);
	return length;
}

void adsm_append(char *text, unsigned long size, const char *format, ...)
{
	const size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	format_text(text + length, size - length, format, args);
	va_end(args);
}

unsigned adsm_utf8_length(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	unsigned n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;

	for (unsigned i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f))
		return 0;	/* an overlong form, or half of a surrogate pair */
	return (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f) ? 0 : n;
}

void adsm_log_write(enum adsm_log_level level, const char *format, ...)
{
	static const char *const names[] = { "", "error", "warning", "info", "debug" };
	char line[ADSM_MESSAGE_MAX];
	size_t length = (size_t)adsm_format(line, sizeof(line), "adsm: %s: ", names[level]);
	va_list args;

	va_start(args, format);
	length += (size_t)format_text(line + length, sizeof(line) - length, format, args);
	va_end(args);
	if (length > sizeof(line) - 1)
		length = sizeof(line) - 1;
	line[length] = '\n';	/* in the terminator's place */
	adsm_os_write(STDERR_FILENO, line, length + 1);
}

bool adsm_may_advise(void)
{
	static _Atomic unsigned n_lines;
	unsigned n;

	if (adsm_log_level < ADSM_LOG_WARN)
		return false;
	n = atomic_fetch_add(&n_lines, 1);
	if (n == ADVICE_MAX)
		adsm_warn("further warnings are not shown");
	return n < ADVICE_MAX;
}

/* ---- the last error */

__thread int adsm_in_fault;

/* Memory for the last errors of threads. It is not from malloc(). A device's lock may be held here, and a handler that
 * waits for this lock may have interrupted malloc() itself, or fork(), which holds all of malloc()'s locks. */
struct rooms {
	struct { _Atomic bool taken; char text[ADSM_MESSAGE_MAX]; } room[ROOMS];
	_Atomic(struct rooms *) next;
};

static struct rooms first_rooms;

static char no_memory[] = "no memory for the text of the error";
static __thread unsigned n_said;
static __thread bool null_is_marked;
/* A room, malloc()ed memory (for a long text), no_memory, or NULL before the first failure. */
static __thread char *last_error;
static pthread_key_t last_error_key;	/* holds the same pointer, only to free it when its thread ends */
static pthread_once_t last_error_once = PTHREAD_ONCE_INIT;
static bool last_error_has_key;

static struct rooms *rooms_after(struct rooms *rooms)
{
	struct rooms *next = atomic_load(&rooms->next), *none = NULL, *made;

	if (next)
		return next;
	made = adsm_os_table(sizeof(*made));
	if (!made || atomic_compare_exchange_strong(&rooms->next, &none, made))
		return made;
	adsm_os_unmap(made, sizeof(*made));
	return none;
}

static char *take_room(void)
{
	for (struct rooms *rooms = &first_rooms; rooms; rooms = rooms_after(rooms))
		for (int i = 0; i < ROOMS; i++)
			if (!atomic_exchange(&rooms->room[i].taken, true))
				return rooms->room[i].text;
	return NULL;
}

/* If @text is a room. */
static bool give_room(const char *text)
{
	for (struct rooms *rooms = &first_rooms; rooms; rooms = atomic_load(&rooms->next)) {
		size_t at = (uintptr_t)text - (uintptr_t)rooms->room;

		if (at < sizeof(rooms->room)) {
			atomic_store(&rooms->room[at / sizeof(*rooms->room)].taken, false);
			return true;
		}
	}
	return false;
}

static void free_last_error(void *text)
{
	last_error = NULL;
	if (!give_room(text))
		free(text);
}

static void make_last_error_key(void)
{
	last_error_has_key = !pthread_key_create(&last_error_key, free_last_error);
}

void adsm_say(const char *format, ...)
{
	char text[ADSM_MESSAGE_MAX];	/* not directly into place, as an argument may be the last error itself */
	va_list args;

	n_said++;
	null_is_marked = false;
	va_start(args, format);
	format_text(text, sizeof(text), format, args);
	va_end(args);
	if (adsm_in_fault && (!last_error || last_error == no_memory))
		return;
	if (!last_error || last_error == no_memory) {
		pthread_once(&last_error_once, make_last_error_key);
		last_error = last_error_has_key ? take_room() : NULL;
		if (!last_error || pthread_setspecific(last_error_key, last_error)) {
			if (last_error)
				give_room(last_error);
			last_error = no_memory;
			return;
		}
	}
	memcpy(last_error, text, sizeof(text));
}

void adsm_say_long(const char *before, const char *text)
{
	size_t size = strlen(before) + strlen(text) + 1;
	char *bigger;

	adsm_say("%s%s", before, text);
	if (size <= ADSM_MESSAGE_MAX || !last_error || last_error == no_memory)
		return;
	bigger = malloc(size);
	if (!bigger)
		return;
	adsm_format(bigger, size, "%s%s", before, text);
	free_last_error(last_error);
	last_error = bigger;
	pthread_setspecific(last_error_key, last_error);
}

const char *adsm_last_error(void)
{
	return last_error ? last_error : "";
}

static bool has_text(void)
{
	return last_error && last_error != no_memory;
}

void adsm_error_keep(struct adsm_error_kept *ret_kept)
{
	ret_kept->at = last_error;
	ret_kept->n_said = n_said;
	ret_kept->null_is_marked = null_is_marked;
	*ret_kept->text = '\0';
	if (has_text() && *last_error)
		memcpy(ret_kept->text, last_error, sizeof(ret_kept->text));
}

void adsm_error_back(const struct adsm_error_kept *kept)
{
	if (n_said == kept->n_said)
		return;
	n_said = kept->n_said;
	null_is_marked = kept->null_is_marked;
	if (!has_text())
		return;
	if (!*kept->text) {
		*last_error = '\0';
		return;
	}
	memcpy(last_error, kept->text, sizeof(kept->text));
	/* The rest of a long text is still behind it, but not in other memory. */
	if (last_error != kept->at)
		last_error[sizeof(kept->text) - 1] = '\0';
}

unsigned adsm_n_said(void)
{
	return n_said;
}

void adsm_error_mark_null(void)
{
	null_is_marked = true;
}

bool adsm_error_is_null_marked(void)
{
	return null_is_marked;
}

/* A hash of the last error that was logged; 0: none. It is not a text under a mutex, as the child of a fork might find
 * that locked. */
static _Atomic uint64_t told;

void adsm_error_once(void)
{
	uint64_t hash = 14695981039346656037u;	/* FNV-1a */

	for (const char *p = adsm_last_error(); *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211u;
	if (atomic_exchange(&told, hash) != hash)
		adsm_error("%s", adsm_last_error());
}

void adsm_error_forget(void)
{
	atomic_store(&told, 0);
}
