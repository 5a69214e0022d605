# SPDX-License-Identifier: MIT
"""Faults that are put into copies of the protocol's sources, one at a time, are found by those who look for them:
faults.py SOURCE CC TEST_STATES TEST_RANDOM TEST_MESSAGES, these the tests' sources. A fault is found where a test ends
with a failure that names what does not hold."""
import os
import re
import subprocess
import sys
import tempfile

NODE = "backends/cluster/node/hcrc"
STALE = "a reader sees what was released before"
FILES = ["hcrc", "hcrc_flags", "hcrc_pages", "hcrc_sync"]
# File, what stands there once, what stands there instead; in which programs it is looked for, and what is said then.
FAULTS = {
    "a second node becomes the home of a page": (
        "hcrc", "\tif (entry->home) {", "\tif (entry->home && message->kind == ADSM_HCRC_ASK_READ) {",
        "locks", "one home"),
    "a lock that somebody has is granted": (
        "hcrc", "\tif (lock->owner)\n\t\trecall(hcrc, message->lock);\n\telse\n", "", "locks",
        "mutual exclusion"),
    "a lock is granted before diffs are in their pages": (
        "hcrc", "\t\tif (lock->n_acks)\n\t\t\treturn;\n", "", "apart",
        STALE),
    "the diffs of a release before are not waited for": (
        "hcrc", "\t\tif (lock->n_acks)\n\t\t\treturn;\n",
        "\t\tif (lock->n_acks && !lock->next)\n\t\t\treturn;\n", "nested-apart",
        STALE),
    "early diffs are not waited for": (
        "hcrc_sync", "\tconst uint32_t now = hcrc->now->epoch;\n\n\tif",
        "\tconst uint32_t now = hcrc->now->epoch;\n\n\tif (epoch == now)\n\t\treturn true;\n\tif",
        "frames-apart", STALE),
    "what a release that waits has is not sent": (
        "hcrc_sync", "\tif (changes && !are_in(hcrc, lock->epoch))\n\t\tadsm_hcrc_flush_early(hcrc);\n", "", "",
        "and not what was written"),
    "what a home has changed of its own pages is not told": (
        "hcrc", "\t\tif (hcrc->entries[page].home == node + 1)\n\t\t\tnotice(hcrc, page, node);\n\t\telse\n",
        "\t\tif (hcrc->entries[page].home != node + 1)\n", "looks", STALE),
    "a copy that is under way is not made old": (
        "hcrc_pages", "\tif (page->asked)\n\t\tpage->stale = true;\n", "", "again",
        STALE + "|messages fit"),
    "workers of a node do not hear of each other": (
        "hcrc_pages", "\tif (size)\n\t\tnotice(hcrc, part, hcrc->parts[part].readers & ~adsm_hcrc_bit(worker));\n", "",
        "looks", STALE),
    "what a node has not sent is lost when its page becomes old": (
        "hcrc_pages", "\tif (page->valid)\n\t\tgive_up(hcrc, number);\n",
        "\tif (page->valid) {\n\t\ttake_diff(hcrc, number);\n\t\tgive_up(hcrc, number);\n\t}\n",
        "programs", "a store is"),
    "and when its frame is wanted": (
        "hcrc_pages", "\tgive_up(hcrc, number);\n\thcrc->counts",
        "\ttake_diff(hcrc, number);\n\tgive_up(hcrc, number);\n\thcrc->counts",
        "frames", STALE + "|no lost update"),
    "a twin is not the page that the worker has": (
        "hcrc_pages", "\thas = has && (part->readers & bit) && !(part->noticed & bit);\n", "", "programs",
        "a store is"),
    "what a worker has changed of a part goes to the page's first part": (
        "hcrc_pages",
        "\tadsm_diff_shift(hcrc->diff, size, (size_t)(part % adsm_hcrc_n_parts(&hcrc->config)) * part_size);\n", "",
        "programs", "a store is"),
    "workers hear of the first part of an old page only": (
        "hcrc_pages", "part < (page + 1) * n; part++", "part < page * n + 1; part++", "programs", "a store is"),
    "two workers of a node have one twin": (
        "hcrc_pages", "hcrc->twins[*at - 1].worker != whose", "(hcrc->twins[*at - 1].worker != 0) != (whose != 0)",
        "locks", "Assertion"),
    "who waits on a node is forgotten": (
        "hcrc_sync", "\tif (lock->first && !lock->n_asked)\n\t\trequest_lock(hcrc, number);\n", "", "again",
        "no deadlock"),
    "a home is told before it has the page": (
        "hcrc", "\tif (entry->moving) {", "\tif (entry->moving && entry->waiting) {", "locks", "messages fit"),
    "a lock that others want stays too long on a node": (
        "hcrc_sync", "(!lock->wanted || lock->n_grants <", "(!lock->wanted || lock->n_grants / 2 <",
        "hand-over", "longest_turn"),
    "a lock that is wanted stays on a node": (
        "hcrc_sync", "\tif (!lock->owner)\n\t\tadsm_hcrc_leave(hcrc, message->lock, true);\n", "", "apart",
        "no deadlock"),
    "a lock that is wanted leaves the worker that has it": (
        "hcrc_sync", "\tif (!lock->owner)\n\t\tadsm_hcrc_leave(hcrc, message->lock, true);\n",
        "\tadsm_hcrc_leave(hcrc, message->lock, true);\n", "locks", "mutual exclusion|messages fit"),
    "a lock that leaves is given to a worker": (
        "hcrc_sync", "lock->here && !lock->owner && !lock->wanted", "lock->here && !lock->owner", "", "runs"),
    "a node is not told that others wait for the lock that it gets": (
        "hcrc", "\tlock->recalled = adsm_hcrc_locks_stay(hcrc) && lock->first;\n", "\tlock->recalled = false;\n",
        "locks", "no deadlock"),
    "a lock leaves without what other locks of the node have guarded": (
        "hcrc_sync", "\tadsm_hcrc_flush(hcrc, number);\n",
        "\thcrc->list->n = 0;\n\tif (!hcrc->locks[!number].here)\n\t\tadsm_hcrc_flush(hcrc, number);\n",
        "nested", STALE + "|messages fit"),
    "a flag is set without what the node has changed": (
        "hcrc_flags", "\tif (worker->flag_kind == ADSM_HCRC_FLAG_SET)\n\t\tadsm_hcrc_flush(hcrc, message.lock);\n", "",
        "relay", STALE),
    "a worker that waited for a flag is not told which pages are old": (
        "hcrc_flags", "\tif (waited)\n", "\tif (!waited)\n", "relay", STALE),
    "a worker that waits for a flag is forgotten": (
        "hcrc_flags", "\t\twaits = flag->first;\n", "", "relay", "no deadlock"),
    "a flag is set before diffs are in their pages": (
        "hcrc", "\t\tif (lock->n_acks)\n\t\t\treturn;\n",
        "\t\tif (lock->n_acks && number < hcrc->config.n_locks)\n\t\t\treturn;\n", "relay-apart", STALE),
    "a flag does not wait for early diffs": (
        "hcrc_flags", "kind == ADSM_HCRC_FLAG_SET);\n}",
        "kind == ADSM_HCRC_FLAG_SET);\n\tif (hcrc->now->leaving == hcrc->config.n_locks + number + 1) {\n"
        "\t\thcrc->now->leaving = hcrc->now->last_leaving = 0;\n\t\tadsm_hcrc_send_flag(hcrc, number);\n\t}\n}",
        "relay-frames", STALE),
    "flags leave a node in another order than they came": (
        "hcrc_sync", "\t*(now->leaving ? &hcrc->locks[now->last_leaving - 1].next : &now->leaving) = number + 1;\n"
        "\tnow->last_leaving = number + 1;\n",
        "\tnow->last_leaving = now->leaving ? now->last_leaving : number + 1;\n\tlock->next = now->leaving;\n"
        "\tnow->leaving = number + 1;\n", "", "flags"),
    "messages are taken in any order": (
        "hcrc", "\tif (message->number != hcrc->taken[message->from])\n\t\treturn -EAGAIN;\n", "", "programs",
        "a store is|-EAGAIN"),
}


def run(command, **how):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **how)


def main():
    source, compiler, states, random, messages = sys.argv[1], sys.argv[2].split(), *sys.argv[3:6]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        flags = [*compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-w", "-c",
                 *[f"-I{source}/{part}" for part in ("lib", "backends", "include", NODE)]]

        def build(path, out):
            made = run([*flags, "-o", os.path.join(folder, out), path])
            assert not made.returncode, f"{path}: {made.stdout}"
            return os.path.join(folder, out)

        right = {name: build(f"{source}/{NODE}/{name}.c", name + ".o") for name in FILES}
        tests = {"states": build(states, "states.o"), "random": build(random, "random.o"),
                 "messages": build(messages, "messages.o")}
        diff = build(f"{source}/backends/process/device/diff.c", "diff.o")
        for fault, (name, old, new, where, said) in FAULTS.items():
            with open(f"{source}/{NODE}/{name}.c", encoding="utf-8") as file:
                text = file.read()
            assert text.count(old) == 1, f"{fault}: {name}.c has {text.count(old)} of it"
            path = os.path.join(folder, "wrong.c")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))
            test = "random" if where in ("programs", "hand-over") else "states" if where else "messages"
            objects = [path if other == name else path for other, path in
                       {**right, name: build(path, "wrong.o")}.items()]
            program = os.path.join(folder, "program")
            made = run([*compiler, "-o", program, tests[test], diff, *objects])
            assert not made.returncode, made.stdout
            told = run([program, where], timeout=120)
            first = next(iter(told.stdout.splitlines()), "")
            found = told.returncode not in (0, -9) and re.search(said, told.stdout)
            print(f"{'found' if found else 'NOT FOUND'}: {fault}: {first}")
            failed += not found
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
