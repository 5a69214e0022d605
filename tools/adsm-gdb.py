# SPDX-License-Identifier: MIT
"""For gdb: the library's own SIGSEGVs pass silently; the commands "adsm devices", "adsm attach", "adsm objects" and
"adsm object"; printers for types of adsm.h and adsm.hpp. gdb loads this file with the library, or: source adsm-gdb.py

The commands read the table of lib/base/watch.h from the memory of the program. They call no function of the library,
and need no debug information."""
import os
import re
import struct

import gdb
import gdb.printing

MAGIC = b"adsm-watch-table"
SIGSEGV_BIT = 1 << 10
N_STATES = 4
CALLS = 3  # the queue of an event that is a call


# ---- the program's memory

def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def mappings(pid):
    """(start, end, may be executed, file) of each mapping."""
    for line in read_text(f"/proc/{pid}/maps").splitlines():
        parts = line.split(None, 5)
        start, end = (int(text, 16) for text in parts[0].split("-"))
        yield start, end, "x" in parts[1], parts[5] if len(parts) > 5 else ""


class Memory:
    """The memory of a process that gdb has stopped."""

    def __init__(self, pid):
        self.file = open(f"/proc/{pid}/mem", "rb", buffering=0)

    def read(self, address, size):
        self.file.seek(address)
        data = self.file.read(size)
        if len(data) < size:
            raise OSError(f"no memory at {address:#x}")
        return data

    def number(self, address, size=8):
        return int.from_bytes(self.read(address, size), "little")

    def text(self, address, size=64):
        data = b""
        while b"\0" not in data and len(data) < 8192:
            data += self.read(address + len(data), min(size, 4096 - (address + len(data)) % 4096))
        return data.split(b"\0")[0].decode(errors="replace")


class Library:
    """The library's table in a process, and what it leads to."""

    def __init__(self, pid):
        self.memory = Memory(pid)
        self.pid = pid
        at = self.find()
        names = self.memory.text(self.memory.number(at + len(MAGIC) + 8)).split()
        values = struct.unpack(f"<{len(names)}Q", self.memory.read(at + len(MAGIC), 8 * len(names)))
        self.table = dict(zip(names, values))
        if self.table["version"] != 1:
            raise gdb.GdbError("adsm-gdb.py is of another version of the library")

    def find(self):
        places = [place for place in mappings(self.pid) if "/libadsm.so" in place[3]]
        for start, end, is_code, _ in places:
            data = b"" if is_code else self.memory.read(start, end - start)
            for found in re.finditer(re.escape(MAGIC), data):
                # The end of a mapping may have a copy whose addresses are not those of this process.
                names_at, = struct.unpack_from("<Q", data, found.end() + 8)
                if any(place[0] <= names_at < place[1] for place in places):
                    return start + found.start()
        raise gdb.GdbError("the program has not loaded libadsm.so")

    def field(self, data, name, size=8):
        return int.from_bytes(data[self.table[name]:self.table[name] + size], "little")

    def objects(self):
        """All live objects, by address."""
        table, memory = self.table, self.memory
        n = memory.number(table["n_slots_at"], 4)
        found = []
        for i in range(0, n, table["chunk_slots"]):
            chunk = memory.number(table["chunks_at"] + i // table["chunk_slots"] * 8)
            n_here = min(n - i, table["chunk_slots"])
            data = memory.read(chunk, n_here * table["object_size"])
            for k in range(n_here):
                slot = data[k * table["object_size"]:(k + 1) * table["object_size"]]
                if slot[table["object_live"]]:
                    found.append(Object(self, slot))
        return sorted(found, key=lambda o: o.start)

    def devices(self):
        table, memory = self.table, self.memory
        for i in range(memory.number(table["n_homes_at"], 4)):
            home = memory.read(table["homes_at"] + i * table["home_size"], table["home_size"])
            device = self.field(home, "home_device")
            backend = memory.number(memory.number(device + table["device_backend"]) + table["backend_name"])
            running = self.field(home, "home_last_call") - self.field(home, "home_ended")
            yield (i, memory.text(backend), memory.text(device + table["device_name"]), running,
                   memory.number(device + table["device_lost"]) != 0)


class Object:
    def __init__(self, library, slot):
        table, memory = library.table, library.memory
        self.library = library
        self.start = library.field(slot, "object_start")
        self.size = library.field(slot, "object_bytes")
        self.name = slot[table["object_name"]:].split(b"\0")[0].decode(errors="replace")
        self.device = memory.number(library.field(slot, "object_home") + table["home_index"], 4)
        self.device_only = slot[table["object_device_only"]] != 0
        self.n_blocks = self.n_dirty = self.n_invalid = 0
        if self.device_only:
            self.protocol = "device only"
            return
        protocol = library.field(slot, "object_protocol")
        self.protocol = memory.text(memory.number(protocol + table["protocol_name"]))
        self.n_blocks = library.field(slot, "object_n_blocks", 4)
        self.shift = library.field(slot, "object_block_shift", 4)
        self.blocks = library.field(slot, "object_blocks")
        self.lacking = slot[table["object_lacking"]]
        self.unsent = slot[table["object_unsent"]]
        counts = struct.unpack_from(f"<{N_STATES}I", slot, table["object_n_in"])
        self.n_invalid = sum(n for i, n in enumerate(counts) if self.lacking >> i & 1)
        self.n_dirty = sum(n for i, n in enumerate(counts) if self.unsent >> i & 1)

    def has(self, address):
        return self.start <= address < self.start + self.size

    def state(self, block):
        table = self.library.table
        state = self.library.memory.number(self.blocks + block * table["block_size"] + table["block_state"], 1) & 3
        return "Invalid" if self.lacking >> state & 1 else "Dirty" if self.unsent >> state & 1 else "ReadOnly"

    def __str__(self):
        name = f' "{self.name}"' if self.name else ""
        text = f"{self.start:#x}{name}: {self.size} bytes, device {self.device}, {self.protocol}"
        if self.device_only:
            return text
        n_read_only = self.n_blocks - self.n_invalid - self.n_dirty
        return f"{text}, blocks: {self.n_invalid} Invalid, {n_read_only} ReadOnly, {self.n_dirty} Dirty"


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def device_processes(pid):
    """The processes of the library's devices: the program has a descriptor of each."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            match = re.search(r"^Pid:\s+([1-9]\d*)$", read_text(f"/proc/{pid}/fdinfo/{fd}"), re.M)
        except OSError:
            continue
        if match and re.match(r"adsm-\w+-(device|keeper)", program_of(match[1])):
            found.append(int(match[1]))
    return found


# ---- SIGSEGV

class Faults:
    """Which SIGSEGVs the library serves. Most are decided without reading its memory."""

    def __init__(self):
        self.ranges = {}  # of a process: addresses that are the library's

    def read_ranges(self, pid):
        """Of a device, the program's objects; of the program, its arena and objects outside of it."""
        if re.match(r"adsm-\w+-device", program_of(pid)):
            owners = [i.pid for i in gdb.inferiors() if i.pid and pid in device_processes(i.pid)]
            if owners:
                return [(o.start, o.start + o.size) for o in Library(owners[0]).objects()]
            return [(start, end) for start, end, _, path in mappings(pid) if "/memfd:adsm-" in path]
        arena = [(start, end) for start, end, _, path in mappings(pid) if "/memfd:adsm-arena" in path]
        return arena + [(o.start, o.start + o.size) for o in Library(pid).objects()]

    def is_own(self):
        pid = gdb.selected_inferior().pid
        info = gdb.parse_and_eval("$_siginfo")
        if int(info["si_code"]) <= 0:
            return False
        caught = re.search(r"^SigCgt:\s+(\w+)", read_text(f"/proc/{pid}/status"), re.M)
        if not int(caught[1], 16) & SIGSEGV_BIT:
            return False
        if program_of(pid) == "adsm-cluster-node":
            return True
        address = int(info["_sifields"]["_sigfault"]["si_addr"])
        for _ in range(2):
            if any(start <= address < end for start, end in self.ranges.get(pid, [])):
                return True
            self.ranges[pid] = self.read_ranges(pid)
        return False


class OwnFault(gdb.Function):
    """$_adsm_own_fault(): 1 if the library serves the SIGSEGV that the program has stopped at."""

    def __init__(self):
        super().__init__("_adsm_own_fault")
        self.faults = Faults()

    def invoke(self):
        try:
            return int(self.faults.is_own())
        except (OSError, gdb.error, gdb.GdbError):
            return 0


def catch_faults():
    """SIGSEGV stops the program only if it is not the library's."""
    gdb.execute("handle SIGSEGV nostop noprint pass", to_string=True)
    match = re.search(r"Catchpoint (\d+)", gdb.execute("catch signal SIGSEGV", to_string=True))
    gdb.execute(f"condition {match[1]} $_adsm_own_fault() == 0", to_string=True)


# ---- commands

def selected_library():
    """The library in the selected process, or else in another one that gdb has: kernels run in processes without it."""
    pids = [i.pid for i in [gdb.selected_inferior(), *gdb.inferiors()] if i.pid]
    if not pids:
        raise gdb.GdbError("the program is not running")
    error = None
    for pid in pids:
        try:
            return Library(pid)
        except OSError as why:
            error = gdb.GdbError(f"the memory of process {pid}: {why.strerror or why}")
        except gdb.GdbError as why:
            error = error or why
    raise error


class Adsm(gdb.Command):
    """Commands for programs that use libadsm."""

    def __init__(self):
        super().__init__("adsm", gdb.COMMAND_DATA, prefix=True)


class Objects(gdb.Command):
    """adsm objects: list all objects, with the states of their blocks."""

    def __init__(self):
        super().__init__("adsm objects", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        for found in selected_library().objects():
            print(found)


class ShowObject(gdb.Command):
    """adsm object ADDRESS: show the object that has this address, and the state of the block there. If the block is
    Invalid, gdb shows old bytes: only the device has the current ones."""

    def __init__(self):
        super().__init__("adsm object", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        value = gdb.parse_and_eval(argument)
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
            value = value.address
        address = int(value) & (1 << 64) - 1
        for found in selected_library().objects():
            if not found.has(address):
                continue
            print(found)
            if not found.device_only:
                block = address - found.start >> found.shift
                state = found.state(block)
                old = ": gdb shows old bytes, only the device has the current ones" if state == "Invalid" else ""
                print(f"{address:#x} is at byte {address - found.start}, in block {block}, which is {state}{old}")
            return
        print(f"{address:#x} is in no object")


class Devices(gdb.Command):
    """adsm devices: list the devices, and the processes where their kernels run."""

    def __init__(self):
        super().__init__("adsm devices", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        library = selected_library()
        for i, backend, name, running, is_lost in library.devices():
            print(f"device {i}: {backend}, {name}, {running} calls running{', lost' if is_lost else ''}")
        for pid in device_processes(library.pid):
            print(f"process {pid}: {program_of(pid)}")


class Attach(gdb.Command):
    """adsm attach: also debug the processes where kernels run, so that breakpoints in kernels stop."""

    def __init__(self):
        super().__init__("adsm attach", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        selected = gdb.selected_inferior().num
        known = [inferior.pid for inferior in gdb.inferiors()]
        pids = [pid for pid in device_processes(selected_library().pid) if pid not in known]
        if not pids:
            raise gdb.GdbError("no process to attach to: the library has not started, or its kernels run elsewhere")
        gdb.execute("set schedule-multiple on")
        for pid in pids:
            before = {inferior.num for inferior in gdb.inferiors()}
            gdb.execute("add-inferior", to_string=True)
            number = ({inferior.num for inferior in gdb.inferiors()} - before).pop()
            try:
                gdb.execute(f"inferior {number}", to_string=True)
                gdb.execute(f"attach {pid}", to_string=True)
            finally:
                gdb.execute(f"inferior {selected}", to_string=True)
            print(f"inferior {number}: process {pid}, {program_of(pid)}")


# ---- printers

class Text:
    """Prints what a function makes of the value."""

    def __init__(self, value, function):
        self.value = value
        self.function = function

    def to_string(self):
        return self.function(self.value)


class Stats:
    """The counters that are not 0."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "adsmStats"

    def children(self):
        return ((f.name, self.value[f.name]) for f in self.value.type.fields() if int(self.value[f.name]))


class Buffer:
    """adsm::buffer: its elements, as the CPU has them."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return f"adsm::buffer of {int(self.value['size_'])} at {int(self.value['data_']):#x}"

    def children(self):
        data = self.value["data_"]
        return ((f"[{i}]", (data + i).dereference()) for i in range(int(self.value["size_"])))

    def display_hint(self):
        return "array"


def event_text(value):
    number = int(value["queue"]) & 0xffffffff
    if not int(value["seq"]):
        return "no event"
    what = "call" if number == CALLS else f"copy of queue {number},"
    return f"{what} {int(value['seq'])} of device {int(value['device'])}"


def dim_text(value):
    return " x ".join(str(int(value[name]) or 1) for name in "xyz")


def argument_text(value):
    kinds = ["none", "pointer", "value", "constant", "use", "local", "once"]
    accesses = ["as declared", "IN", "OUT", "INOUT"]
    kind, access, data, size = (int(value[name]) for name in ["kind", "access", "data", "size"])
    kind = kinds[kind] if kind < len(kinds) else str(kind)
    if kind in ("pointer", "use"):
        return f"{kind} {data:#x}, {accesses[access & 3]}"
    return f"{kind} of {size} bytes at {data:#x}"


def object_text(value):
    name = value["name"].string()
    name = f' "{name}"' if name else ""
    return f"object{name} at {int(value['start']):#x}, {int(value['size'])} bytes"


def kernel_text(value):
    return f"kernel '{value['info']['name'].string()}'"


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("adsm")
    for name, function in [("adsmEvent", event_text), ("adsmDim", dim_text), ("adsmArg", argument_text),
                           ("adsm_object", object_text), ("adsmKernel", kernel_text)]:
        collection.add_printer(name, f"^{name}$", lambda value, function=function: Text(value, function))
    collection.add_printer("adsmStats", "^adsmStats$", Stats)
    collection.add_printer("adsm::buffer", "^adsm::buffer<.*>$", Buffer)
    return collection


if not hasattr(gdb, "adsm_is_loaded"):
    gdb.adsm_is_loaded = True
    for command in [OwnFault, Adsm, Objects, ShowObject, Devices, Attach]:
        command()
    gdb.printing.register_pretty_printer(None, printers())
    catch_faults()
