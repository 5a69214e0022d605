#!/bin/sh
# SPDX-License-Identifier: MIT
# A Java VM, which needs SIGSEGV for its null pointers, with the library and a thread that uses objects in its process:
# jvm.sh LIBRARY OBJECTS
set -eu
skip() {
	echo "skipped: $1"
	exit 77
}
[ -z "${TEST_SKIP:-}" ] || skip "$TEST_SKIP"
command -v java >/dev/null || skip 'no java here'
java --list-modules 2>/dev/null | grep -q '^jdk.compiler@' || skip 'this java has no compiler'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/Main.java" <<'END'
public class Main {
	int value;

	static int read(Main from) {
		return from.value;
	}

	public static void main(String[] arguments) {
		int caught = 0;

		for (int i = 0; i < 300; i++) {
			try {
				read(i % 2 == 0 ? null : new Main());
				read(null);
			} catch (NullPointerException e) {
				caught++;
			}
		}
		System.out.println("caught " + caught);
	}
}
END
# Compiled code that finds null pointers by the fault they cause, each time.
answer=$(cd "$folder" && LD_PRELOAD="$1 $2" java -XX:TieredStopAtLevel=1 -XX:-CreateCoredumpOnCrash -Xmx64m Main.java \
	2>errors) || { cat "$folder/errors"; echo "java: $answer"; exit 1; }
cat "$folder/errors"
echo "$answer"
[ "$answer" = 'caught 300' ]
grep -q '^objects: all right$' "$folder/errors"
