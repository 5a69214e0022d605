# SPDX-License-Identifier: MIT
"""Headers compile alone, before anything else is included: headers.py LANGUAGE COMPILER..."""
import os
import subprocess
import sys

import tree

CPLUSPLUS = ["include/adsm.h", "include/adsm_copy.h", "include/adsm_export.h", "include/adsm_opencl.h",
             "include/adsm_once.h", "include/adsm_once.hpp", "include/adsm_service.h", "include/adsm_lend.h",
             "include/adsm_prefetch.h", "include/adsm_queue.h", "include/adsm_split.h", "include/adsm_texture.h"]
LANGUAGES = {
    # The public ones in the strictest standard mode, without extensions being asked for.
    "c11": (["-x", "c", "-std=c11", "-Wpedantic", "-Wstrict-prototypes"],
            [path for path in CPLUSPLUS if not path.endswith(".hpp")] + ["include/comic_pp_manager.h"]),
    "c++11": (["-x", "c++", "-std=c++11", "-Wpedantic"], CPLUSPLUS),
    "c++17": (["-x", "c++", "-std=c++17", "-Wpedantic"], CPLUSPLUS + ["include/adsm.hpp"]),
    # Only this one has parts that depend on it.
    "c++20": (["-x", "c++", "-std=c++20", "-Wpedantic"], ["include/adsm.hpp"]),
    "gnu11": (["-x", "c", "-std=gnu11", "-D_GNU_SOURCE", "-Wstrict-prototypes"],
              # Where mpi.h lies depends on the MPI.
              [path for path in sorted(tree.files(["include", "lib", "backends", "protocols", "interpose", "tools",
                                                   "parboil"], (".h",)))
               # Those of CUDA C are for clang with -x cuda: tests/ptx/headers. Those of lib/ptx are parts of one text.
               if "<mpi.h>" not in tree.read(path) and
               not path.startswith(("include/cuda-c/", "lib/ptx/runtime/"))]),
}
# Small programs that a header must also carry.
BODIES = {
    "include/adsm_export.h": "ADSM_API int declared(void);\n",
    "include/adsm.h": """
int main(void)
{
	adsmDim one = { 1, 1, 1 };
	float *p = (float *)adsmAlloc(sizeof(*p));
	int n = 1;

	return adsmCall((adsmKernel *)0, one, one, adsmPtr(p), adsmOut(p), adsmVal(n), adsmConst(&n, sizeof(n)),
			adsmUse(p, ADSM_ACCESS_IN)) || adsmCall((adsmKernel *)0, one, one, adsmVal(1.5f));
}
""",
    "include/adsm_once.h": """
int main(void)
{
	adsmDim one = { 1, 1, 1 };
	adsmOnce *p = adsmOnceAlloc(1, 1, NULL);
	int n = 1;

	return adsmOnceCall((adsmKernel *)0, one, one, adsmOnceIn(p, 0, n), adsmOnceOut(p, n, 1), adsmVal(n));
}
""",
    "include/adsm_service.h": """
static int serve(void *ctx, const void *in, size_t in_size, void *out, size_t out_size)
{
	return ctx || in || out ? (int)in_size : -(int)out_size;
}

int main(void)
{
	return adsmServiceRegister("serve", serve, 1, 1, NULL) || adsmServiceUnregister("serve");
}
""",
    "include/adsm_queue.h": """
int main(void)
{
	adsmEvent event;

	return adsmCallEvent(&event) || adsmEventQuery(event) || adsmEventWait(event) ||
		adsmEventTime(event, NULL, NULL) || adsmQueueSet(adsmQueueCreate()) ||
		adsmQueueWait(NULL, event) || adsmQueueDestroy(NULL);
}
""",
    "include/adsm_once.hpp": """
template class adsm::once::vector<int>;
template class adsm::once::matrix<double>;
""",
    "include/adsm.hpp": """
struct none {
	static constexpr const char *kernel_name = "none";
	static constexpr unsigned max_threads = 1;
	using parameter_list = adsm::param::list<adsm::param::in<float>, adsm::param::value<int>>;
};
template class adsm::buffer<float>;
template class adsm::allocator<int>;
void call(const adsm::kernel<none> &kernel, const adsm::buffer<float> &a)
{
	kernel.each<1>(a.size(), a, 1);
}
""",
    "include/adsm_kernel.h": """
ADSM_KERNEL(vecadd, ADSM_IN(float, a), ADSM_OUT(float, b), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			b[ADSM_GLOBAL_X] = a[ADSM_GLOBAL_X];
	}
}

ADSM_TASK(copy, ADSM_IN(float, a), ADSM_OUT(float, b), ADSM_VAL(int, n))
{
	for (int i = ADSM_WORKER; i < n; i += ADSM_N_WORKERS)
		ADSM_WRITE(&b[i], ADSM_READ(&a[i]));
	ADSM_LOCK(0);
	ADSM_UNLOCK(0);
	ADSM_ALL_BARRIER;
}
""",
    "include/comic_pp_manager.h": """
COMIC_PP_shared(int a[10]; double b;)

int main(void)
{
	COMIC_PP_manager_init();
	COMIC_PP_access(a[1]) = 1;
	COMIC_PP_manager_run(0);
	COMIC_PP_manager_exit();
}
""",
}

options, headers = LANGUAGES[sys.argv[1]]
folders = [f"-I{os.path.join(tree.ROOT, folder)}"
           for folder in ["", "include", "lib", "backends", "protocols", "interpose", "parboil", "parboil/common"]]
problems = []
for header in headers:
    # Not everybody has OpenCL's headers, and LLVM's.
    if "<CL/" in tree.read(header) and not os.path.exists("/usr/include/CL/cl.h"):
        continue
    if "<llvm-c/" in tree.read(header) and "-isystem" not in sys.argv:
        continue
    text = f'#include "{os.path.join(tree.ROOT, header)}"\n' + BODIES.get(header, "")
    done = subprocess.run(sys.argv[2:] + options + ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"] + folders + ["-"],
                          input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        problems.append(f"{header} as {sys.argv[1]}:\n{done.stdout}")
tree.finish(problems, len(headers))
