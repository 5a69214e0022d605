# SPDX-License-Identifier: MIT
"""Advice keeps its promises: a program is run and asked for advice, then run again as that says, and counted."""
import os
import subprocess
import sys

PROGRAM = sys.argv[1]
PROMISED = ('h2d_bytes', 'd2h_bytes', 'h2d_transfers', 'd2h_transfers', 'read_faults', 'write_faults', 'evictions',
            'signals')
failures = 0


def fail(what):
    global failures
    failures += 1
    print(what)


def counters(line):
    return {key: int(value) for key, value in (word.split('=') for word in line.split()[-len(PROMISED):])}


def run(arguments, settings, advise=False):
    """What it counted, the advice by kind, and the counters it would have by setting."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith('ADSM_') or key in ('ADSM_BACKEND', 'ADSM_CPU_DEVICE')}
    environment.update(settings)
    if advise:
        environment.update(ADSM_ADVISE='1', ADSM_STATS='off')
    done = subprocess.run([PROGRAM] + arguments, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f'{arguments} {settings}: {done.returncode}\n{done.stdout}{done.stderr}')
    result = {'advice': {}, 'if': {}}
    for line in done.stdout.splitlines():
        word, _, rest = line.partition(' ')
        if word == 'counted':
            result['counted'] = counters(rest)
        elif word == 'if':
            result['if'][rest.split(':')[0]] = counters(rest)
        elif word == 'advice':
            kind, exact, setting = rest.rstrip(':').split(' ', 2)
            item = result['advice'][kind] = {'exact': exact == '1', 'setting': setting}
        elif word == 'text':
            item['text'] = rest
        elif word in ('now', 'then'):
            item[word] = counters(rest)
    return result


def differing(got, want):
    return [f'{key} {got[key]}, not {want[key]}' for key in PROMISED if got[key] != want[key]]


def settings_of(text):
    return dict(word.split('=') for word in text.split() if word.startswith('ADSM_'))


def check_promise(name, settings, kind, extra=()):
    """A bad program is told how to be better; it is counted the same whether it is watched or not."""
    what = f'{name} {settings}'
    plain = run([name, 'bad', *extra], settings)
    watched = run([name, 'bad', *extra], settings, advise=True)
    for text in differing(watched['counted'], plain['counted']):
        fail(f'{what}: watched: {text}')
    if 'in' in watched['advice'] and name != 'input':
        fail(f'{what}: kernels change it, and it is said that they do not')
    item = watched['advice'].get(kind)
    if not item:
        fail(f'{what}: no advice of the kind {kind}, only {watched["advice"]}')
        return
    if not item['exact']:
        fail(f'{what}: {kind}: only about')
    for text in differing(item['now'], plain['counted']):
        fail(f'{what}: {kind}: now: {text}')
    followed = run([name, 'bad' if settings_of(item['setting']) else 'fixed', *extra],
                   {**settings, **settings_of(item['setting'])})
    for text in differing(followed['counted'], item['then']):
        fail(f'{what}: {item["setting"]}: promised: {text}')
    print(f'{what}: {item["text"]}: {item["setting"]}')


def check_none(name, settings, extra=()):
    advice = run([name, 'bad', *extra], settings, advise=True)['advice']
    if advice:
        fail(f'{name} {settings}: is well-behaved, and is told {advice}')


def check_about(name, settings, extra=()):
    """Where not all can be watched the program runs as well, and nothing is promised."""
    what = f'{name} {settings}'
    watched = run([name, 'bad', *extra], settings, advise=True)
    for key, value in run([name, 'bad', *extra], settings)['counted'].items():
        # Giving up closes the object, which is opened again by a signal more.
        if value != watched['counted'][key] and key != 'signals':
            fail(f'{what}: watched: {key} {watched["counted"][key]}, not {value}')
    if watched['if'] or watched['advice']:
        fail(f'{what}: is promised {watched}')


def check_simulation(seed, settings, size):
    """All that is simulated is what happens."""
    what = f'anything {seed} {settings} {size}'
    plain = run(['anything', seed, size], settings)
    watched = run(['anything', seed, size], settings, advise=True)
    for text in differing(watched['counted'], plain['counted']):
        fail(f'{what}: watched: {text}')
    if len(watched['if']) < 2:
        fail(f'{what}: only {list(watched["if"])} are simulated')
    for setting, promised in watched['if'].items():
        protocol, block_size = setting.split()
        # Room for all, so that nothing is sent early.
        other = {**settings, 'ADSM_PROTOCOL': protocol, 'ADSM_ROLLING_SIZE': '100000'}
        if protocol == 'rolling':
            other['ADSM_BLOCK_SIZE'] = block_size
        for text in differing(run(['anything', seed, size], other)['counted'], promised):
            fail(f'{what}: {setting}: {text}')


PAPER = {'ADSM_PAPER': '1'}
ROOM = {'ADSM_ROLLING_SIZE': '10000'}
SMALL = {'ADSM_BLOCK_SIZE': '4K'}
LAZY = {'ADSM_PROTOCOL': 'lazy'}
SYNCED = {'ADSM_PROTOCOL': 'toy', **PAPER}		# what calls have written is fetched by the sync
# Where it has the choice glibc copies and fills in the order of addresses; else in one that depends on them.
BY_VECTORS = {'GLIBC_TUNABLES': 'glibc.cpu.x86_rep_movsb_threshold=0x40000000:'
                                'glibc.cpu.x86_rep_stosb_threshold=0x40000000'}

if sys.argv[2] == 'blocks':
    check_promise('sparse', {}, 'blocks')
    check_promise('sparse', LAZY, 'blocks')
    check_promise('sparse', PAPER, 'blocks')
    check_promise('sparse', {**PAPER, 'ADSM_ROLLING_SIZE': '3'}, 'blocks', ('4198403',))
elif sys.argv[2] == 'protocol':
    check_promise('dense', {**SMALL, **ROOM, 'ADSM_FAULT_AHEAD': '0'}, 'protocol')
    check_promise('dense', {**SMALL, **PAPER, **ROOM}, 'protocol', ('1048579',))
elif sys.argv[2] == 'in':
    check_promise('input', {}, 'in')
    check_promise('input', LAZY, 'in')
    check_promise('input', {'ADSM_FAULT_AHEAD': '0', **SMALL, **ROOM}, 'in')
elif sys.argv[2] == 'rolling-size':
    check_promise('rewritten', PAPER, 'rolling_size')
    check_promise('rewritten', {**PAPER, **SMALL, 'ADSM_ROLLING_SIZE': '7'}, 'rolling_size')
    check_promise('rewritten', {**PAPER, **SMALL}, 'rolling_size', ('1000003',))
elif sys.argv[2] == 'synced':
    check_promise('sparse', SYNCED, 'blocks')
    check_promise('sparse', {**SYNCED, 'ADSM_BLOCK_SIZE': '256K'}, 'blocks', ('4198403',))
    check_promise('dense', {**SYNCED, **SMALL}, 'protocol', ('1048579',))
    for setting in SYNCED, {**SYNCED, **SMALL}:
        check_simulation('5', setting, str((1 << 21) + 5001))
elif sys.argv[2] == 'none':
    for setting in {}, LAZY, {'ADSM_BLOCK_SIZE': '1M'}:
        check_none('good', setting)
elif sys.argv[2] == 'scattered':
    check_about('scattered', LAZY, ('160000000',))
    check_about('scattered', {**PAPER, **ROOM, 'ADSM_BLOCK_SIZE': '1M'}, ('160000000',))
elif sys.argv[2] == 'simulation':
    for number, libc in (1, {}), (4, BY_VECTORS):
        for setting in {}, LAZY, SMALL, {**PAPER, **SMALL}, {**PAPER, 'ADSM_ROLLING_SIZE': '5'}:
            check_simulation(str(number), {**setting, **libc}, str((1 << 21) + 5000 * number + 1))
else:
    sys.exit('which test?')
sys.exit(failures > 0)
