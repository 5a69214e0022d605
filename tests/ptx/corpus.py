# SPDX-License-Identifier: MIT
"""
corpus.py - other people's CUDA sources, unmodified: how many of their kernels can adsmcc translate?

    python3 tests/ptx/corpus.py --adsmcc build/tools/adsmcc FOLDER...

Each folder is a suite, for example a clone of a repository. The script compiles each file *.cu in it with adsmcc's
clang step, translates the PTX, and prints for each suite: files, files that compile, files that need a library, and
kernels that are translated or refused, with reasons. The sources stay where they are, and nothing of them is kept.

- A header that is not found is looked for in the suite, and the nearest folder that has it is added by -I.
- Macros (-D) and the standard of C++ (-std) come from the makefile beside the file or above it. A file that does not
  compile with the macros is tried without them.
- A file that another file of the suite includes is a part of it: its kernels count there.
- A file that needs a header of a library other than the CUDA runtime is excluded from the rate, and so is HIP.
- If a file does not compile, its kernels are counted in its text, and each of them is a kernel that is not translated.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys
import tempfile

# The headers that come with the CUDA runtime and its language. Every other header that a suite lacks is a library's.
RUNTIME = re.compile(r'''(cuda_runtime|cuda_runtime_api|cuda|cuda_fp16|cuda_bf16|cuda_fp8|cuda_fp6|cuda_fp4|
    curand_kernel|
    cooperative_groups|cooperative_groups/\w+|mma|math_constants|math_functions|cuComplex|device_functions|
    device_launch_parameters|device_atomic_functions|vector_types|vector_functions|driver_types|host_defines|
    host_config|texture_types|surface_types|builtin_types|cuda_device_runtime_api|cuda_profiler_api|cuda_pipeline|
    cuda_awbarrier|texture_fetch_functions|texture_indirect_functions|surface_functions|channel_descriptor|
    sm_\w+|crt/\w+|common_functions|curand_\w+|cuda_texture_types|cuda_surface_types|library_types)\.hp?p?''', re.X)
SUFFIXES = ('.cu', '.cuh', '.h', '.hpp', '.hh', '.inl', '.inc', '.c', '.cc', '.cpp', '.cxx')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.M)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.S)
TRIES = 24


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=600)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, '', 'error: it took more than 600 seconds\n')


class Suite:
    """The files of a folder, and which of them includes which."""

    def __init__(self, root, only):
        self.root = os.path.abspath(root)
        self.name = os.path.basename(self.root)
        self.by_name = collections.defaultdict(list)
        self.files = []
        for folder, folders, names in os.walk(self.root):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(SUFFIXES) and not os.path.islink(path):
                    self.by_name[name].append(path)
                    if name.endswith('.cu') and (not only or re.search(only, os.path.relpath(path, self.root))):
                        self.files.append(path)
        self.found = {}
        self.included = {}
        parts = set()
        programs = {self.program(path) for path in self.files}
        for paths in list(self.by_name.values()):
            for path in paths:
                if self.program(path) in programs:
                    self.included[path] = [self.find(name, path) for name in INCLUDE.findall(read(path))]
                    parts.update(part for part in self.included[path] if part and part != path)
        self.parts = [path for path in self.files if path in parts]
        self.files = [path for path in self.files if path not in parts]

    def program(self, path):
        """The folder of a file, or the one two levels below the root."""
        return '/'.join(os.path.relpath(path, self.root).split('/')[:2])

    def find(self, name, path):
        """The file that the name in an #include of a file means: the one with the most folders in common."""
        folder = os.path.dirname(path)
        if (folder, name) not in self.found:
            beside = os.path.normpath(os.path.join(folder, name))
            tail = '/' + re.sub(r'^(\.\.?/)+', '', name)
            others = [other for other in self.by_name.get(os.path.basename(name), ()) if other.endswith(tail)]
            self.found[folder, name] = beside if os.path.isfile(beside) else max(
                others, key=lambda other: len(os.path.commonprefix([other, folder + '/'])), default=None)
        return self.found[folder, name]

    def makefile_words(self, path):
        """The words that start with -D and -std= in the nearest makefile."""
        folder = os.path.dirname(path)
        while len(folder) >= len(self.root):
            for name in ('Makefile', 'makefile', 'CMakeLists.txt'):
                if os.path.isfile(os.path.join(folder, name)):
                    text = read(os.path.join(folder, name))
                    return [word for word in re.findall(r'(?:^|\s)(-(?:D|std=)[^\s$"\'()]+)(?=\s)', text)]
            folder = os.path.dirname(folder)
        return []

    def kernels_in_text(self, path, seen=None):
        """How many kernels the text of a file and its parts define."""
        seen = seen if seen is not None else set()
        if path in seen:
            return 0
        seen.add(path)
        text = COMMENT.sub(' ', read(path))
        count = sum(1 for after in re.split(r'\b__global__\b', text)[1:]
                    if re.match(r'[^;{]*\{', after))
        return count + sum(self.kernels_in_text(part, seen) for part in self.included.get(path, ())
                           if part and part.endswith(('.cu', '.cuh')))


class Result:
    """What became of a file."""

    def __init__(self, path):
        self.path = path
        self.status = None          # 'compiles', 'library', 'hip', 'fails'
        self.why = ''
        self.text_kernels = 0
        self.kernels = []           # (name, None or why it is refused)
        self.inputs = [path]
        self.bad_c = ''


def first_error(stderr):
    match = re.search(r'^[^\n]*?(\d+):\d+: (?:fatal )?error: ([^\n]*)', stderr, re.M)
    if match:
        return f'{match.group(2)} (line {match.group(1)})'
    match = re.search(r'error: ([^\n]*)', stderr)
    return match.group(1) if match else stderr.strip().split('\n')[-1]


def make_ptx(arguments, suite, result, ptx):
    """Compile the file. Headers that are missing are looked for in the suite."""
    words = suite.makefile_words(result.path)
    standards = [word for word in words if word.startswith('-std=') and '++' in word] or ['-std=c++17']
    macros = [word for word in words if word.startswith('-D') and word != '-DDEBUG']
    folders = []
    depends = ptx + '.d'
    for _ in range(TRIES):
        command = [arguments.adsmcc, '--emit-ptx', standards[-1], '-Wno-everything', '-ferror-limit=1',
                   '-I' + suite.root, '-I' + os.path.dirname(result.path), *('-I' + folder for folder in folders),
                   *macros, '-MF', depends, '-o', ptx, result.path]
        done = run(command)
        missing = re.search(r"(\S*?):?\d*:?\d*: fatal error: '([^']+)' file not found", done.stderr)
        if done.returncode and missing:
            name = missing.group(2)
            found = suite.find(name, result.path)
            if found:
                folder = found[:-len(re.sub(r'^(\.\.?/)+', '', name)) - 1]
                depth = len(re.findall(r'\.\./', name))
                # For "../x.h" the folder that is added is one below it, which need not be the right one.
                below = os.path.join(folder, *['.'] * depth)
                if depth:
                    below = next((os.path.join(folder, one) for one in sorted(os.listdir(folder))
                                  if os.path.isdir(os.path.join(folder, one))), folder)
                if below not in folders:
                    folders.append(below)
                    continue
            result.status = 'fails' if found or RUNTIME.fullmatch(name) else 'library'
            result.why = name if result.status == 'library' else f"'{name}' file not found"
            return False
        if done.returncode and 'no kernel in this file' not in done.stderr and macros:
            macros = []
            continue
        break
    if os.path.exists(depends):
        for name in read(depends).replace('\\\n', ' ').split()[1:]:
            path = os.path.abspath(name)
            if path.startswith(suite.root + os.sep):
                result.inputs.append(path)
    if done.returncode and 'no kernel in this file' not in done.stderr:
        result.status, result.why = 'fails', first_error(done.stderr)
        return False
    result.status = 'compiles'
    return not done.returncode


def check_c(arguments, ptx):
    """Compile the C text of PTX. Returns what the compiler says, or nothing."""
    source = ptx + '.c'
    done = run([arguments.adsmcc, '--emit-text', ptx, '-o', source])
    if not done.returncode:
        include = os.path.join(os.path.dirname(__file__), '../../include')
        done = run([arguments.cc, '-std=gnu11', '-w', '-fwrapv', '-fno-strict-aliasing', '-ffp-contract=off',
                    '-fno-math-errno', '-fPIC', '-I', include, *arguments.check_c.split(), source,
                    '-o', ptx + '.o'])
    for name in (source, ptx + '.o'):
        if os.path.exists(name) and not arguments.keep:
            os.unlink(name)
    return '' if not done.returncode else first_error(done.stderr)


def try_file(arguments, suite, path, scratch):
    result = Result(path)
    key = hashlib.sha256(os.path.relpath(path, suite.root).encode()).hexdigest()[:16]
    ptx = os.path.join(scratch, f'{suite.name}-{key}.ptx')
    if re.search(r'^[ \t]*#[ \t]*include[ \t]*["<]hip/', read(path), re.M):
        result.status = 'hip'
        return result
    if arguments.keep and os.path.exists(ptx):
        result.status = 'compiles'
    elif not make_ptx(arguments, suite, result, ptx):
        if result.status == 'fails':
            result.text_kernels = suite.kernels_in_text(path)
        return result
    done = run([arguments.adsmcc, '--list-kernels', ptx])
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(': ')
        result.kernels.append((name, None if rest == 'translated' else re.sub(r'^refused: (line \d+: )?', '', rest)))
    if done.returncode:
        names = re.findall(r'^\s*(?:\.visible |\.weak )*\.entry (\S+?)\(?$', read(ptx), re.M)
        result.kernels = [(name, first_error(done.stderr)) for name in names]
    elif arguments.check_c and result.kernels:
        result.bad_c = check_c(arguments, ptx)
    if not arguments.keep:
        os.unlink(ptx)
    return result


def try_and_tell(arguments, suite, path, scratch):
    result = try_file(arguments, suite, path, scratch)
    if arguments.verbose:
        n = sum(1 for _, why in result.kernels if not why)
        print(f'{os.path.relpath(path, suite.root)}: {result.status} {result.why} {n} of {len(result.kernels)} kernels '
              f'{result.bad_c}', file=sys.stderr, flush=True)
    return result


def general(sentence):
    """A reason without names and numbers, so that equal reasons can be counted."""
    return re.sub(r'\b\d+\b', 'N', re.sub(r'[$%]?\b_Z\w+|%\w+', 'NAME', sentence))


def print_suite(arguments, suite, results):
    count = collections.Counter(result.status for result in results)
    translated = sum(1 for result in results for _, why in result.kernels if not why)
    refused = collections.Counter(general(why) for result in results for _, why in result.kernels if why)
    failed = sum(result.text_kernels for result in results)
    total = translated + sum(refused.values()) + failed
    print(f'{suite.name}: {len(results) + len(suite.parts)} files: {len(suite.parts)} are parts of others, '
          f'{count["hip"]} are HIP, {count["library"]} need a library, {count["compiles"]} compile, '
          f'{count["fails"]} do not')
    print(f'{suite.name}: {total} kernels: {translated} translated, {sum(refused.values())} refused, '
          f'{failed} in files that do not compile: {100 * translated / max(total, 1):.1f} %')
    bad = [result for result in results if result.bad_c]
    if arguments.check_c:
        print(f'{suite.name}: the C text of {len(bad)} files does not compile')
    if arguments.brief:
        return
    for sentence, n in refused.most_common():
        print(f'  refused {n}: {sentence}')
    for result in results:
        path = os.path.relpath(result.path, suite.root)
        if arguments.names:
            for name, why in result.kernels:
                if why:
                    print(f'  refused {path}: {name}: {why}')
        if result.status == 'fails':
            print(f'  does not compile ({result.text_kernels} kernels) {path}: {result.why}')
        if result.bad_c:
            print(f'  bad C {path}: {result.bad_c}')
    for name, n in collections.Counter(r.why for r in results if r.status == 'library').most_common():
        print(f'  library {n}: {name}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--adsmcc', default='build/tools/adsmcc', help='adsmcc (default: %(default)s)')
    parser.add_argument('--cc', default='gcc', help='the C compiler of --check-c (default: %(default)s)')
    parser.add_argument('--check-c', metavar='OPTIONS', default='',
                        help='also compile the C text of each file, for example with "-O1 -fsyntax-only" or "-O3 -c"')
    parser.add_argument('--only', metavar='PATTERN', help='only files whose path has this regular expression')
    parser.add_argument('--each', metavar='N', type=int, default=1, help='only one of N files')
    parser.add_argument('--jobs', type=int, default=2, help='files at the same time (default: %(default)s)')
    parser.add_argument('--inputs', metavar='FILE', help='write a list of all inputs with their SHA-256')
    parser.add_argument('--keep', metavar='FOLDER', help='keep the PTX there, and use PTX that is there')
    parser.add_argument('--brief', action='store_true', help='print only the counts')
    parser.add_argument('--verbose', '-v', action='store_true', help='print each file when it is done')
    parser.add_argument('--names', action='store_true', help='print the name of each kernel that is refused')
    parser.add_argument('folders', nargs='+', metavar='FOLDER')
    arguments = parser.parse_args()
    inputs = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in arguments.folders:
            suite = Suite(folder, arguments.only)
            paths = suite.files[::arguments.each]
            with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
                results = list(pool.map(lambda path: try_and_tell(arguments, suite, path, arguments.keep or scratch),
                                            paths))
            print_suite(arguments, suite, results)
            sys.stdout.flush()
            for path in sorted({name for result in results for name in result.inputs}):
                with open(path, 'rb') as file:
                    digest = hashlib.sha256(file.read()).hexdigest()
                inputs.append(f'{digest}  {suite.name}/{os.path.relpath(path, suite.root)}\n')
    if arguments.inputs:
        with open(arguments.inputs, 'w', encoding='utf-8') as file:
            file.writelines(inputs)


if __name__ == '__main__':
    main()
