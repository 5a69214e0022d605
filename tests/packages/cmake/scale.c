/* SPDX-License-Identifier: MIT */
/* Prints what the kernel of a module makes of 7: "scale FILE" names the module. */
#include <adsm.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	adsmKernel *scale = adsmKernelGet(adsmModuleLoad(argc > 1 ? argv[1] : "kernels.adsm"), "scale");
	int *a = adsmAlloc(sizeof(*a));

	if (!scale || !a)
		return fprintf(stderr, "%s\n", adsmLastError()), 1;
	*a = 7;
	if (adsmCall(scale, adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmInOut(a)) || adsmSync())
		return fprintf(stderr, "%s\n", adsmLastError()), 1;
	printf("%d\n", *a);
	return 0;
}
