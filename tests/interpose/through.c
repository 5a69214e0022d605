// SPDX-License-Identifier: MIT
/* through.c - a program that is linked with the library only through another one: libc is looked into first. */
int through_start(void);

int main(void)
{
	return through_start() ? 1 : 0;
}
