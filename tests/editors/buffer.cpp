/* SPDX-License-Identifier: MIT */
/* buffer.cpp - a buffer to print in the debugger. */
#include <adsm.hpp>

int main()
{
	adsm::buffer<float> values(3);

	for (std::size_t i = 0; i < values.size(); i++)
		values[i] = 1.5f * static_cast<float>(i);
	return values[0] > 0; // here
}
