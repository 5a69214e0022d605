/* SPDX-License-Identifier: MIT */
/* table3.c - how the counts of all calls become those of one, for table3. */
#include <string.h>

#include "../check.h"
#include "../../parboil/common/table3.h"

int main(void)
{
	struct pb_average average = pb_average(25000, 1000);

	CHECK(average.exact && average.each == 25 && strcmp(average.text, "25") == 0);
	/* A page more in one of the calls, and in all but one. */
	average = pb_average(25001, 1000);
	CHECK(!average.exact && strcmp(average.text, "25.001") == 0);
	average = pb_average(25999, 1000);
	CHECK(!average.exact && average.each == 25 && strcmp(average.text, "25.999") == 0);
	average = pb_average(0, 7);
	CHECK(average.exact && average.each == 0);
	return 0;
}
