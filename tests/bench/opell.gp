# SPDX-License-Identifier: MIT
# Figures 8 to 12 of the paper on OPELL, as bars: opell.gp CSV OUT CAPTION FIGURE PROGRAMS (opell.py).
csv = ARG1; out = ARG2; caption = ARG3; figure = int(ARG4)
array titles[5] = ["Figure 8: transfers of code", "Figure 9: ticks of 79.8 MHz", "Figure 10: calls for each transfer", \
	"Figure 11: transfers by LRU and by modulus, two sub-buffers", \
	"Figure 12: transfers in case 8, with the victim entry and without"]
title = "OPELL, ".titles[figure - 7]
load ARG0[1:strstrt(ARG0, "opell.gp") - 1]."../../parboil/figures/style.gp"

programs = ARG5
n_programs = words(programs)
place(name) = sum [p=1:n_programs] (word(programs, p) eq name ? p : 0)

# The bars of a group: sub-buffers, registers, policy, victim entry; "*": the file does not have it.
n_bars = figure == 12 ? 12 : figure == 11 ? 2 : figure == 10 ? 3 : 4
array bars[12]
if (figure <= 9) {
	array bars[12] = ["1 all lru off", "1 needed lru off", "2 needed lru off", "4 needed lru off"]
	names = "'1, all registers' '1' '2' '4'"
}
if (figure == 10) {
	array bars[12] = ["1 needed lru off", "2 needed lru off", "4 needed lru off"]
	names = "'1' '2' '4'"
}
if (figure == 11) {
	array bars[12] = ["2 needed lru off", "2 needed modulus off"]
	names = "LRU modulus"
}
if (figure == 12) {
	n_bars = 10
	array bars[12] = ["1 needed lru off", "1 needed lru on", "2 needed lru off", "2 needed lru on", \
		"2 needed modulus off", "2 needed modulus on", "4 needed lru off", "4 needed lru on", \
		"4 needed modulus off", "4 needed modulus on"]
	names = "'1' '1 +' '2 LRU' '2 LRU +' '2 mod' '2 mod +' '4 LRU' '4 LRU +' '4 mod' '4 mod +'"
	set key maxrows 2
}
array colours[10] = [black, blue, green, orange, vermilion, sky, grey, yellow, 0x8040a0, 0x804000]
setting(k) = column("buffers") == int(word(bars[k], 1)) && strcol("registers") eq word(bars[k], 2) && \
	(figure == 9 || (strcol("policy") eq word(bars[k], 3) && strcol("victim") eq word(bars[k], 4)))
height(k) = figure == 9 ? column("ticks") : figure == 10 ? column("calls") / (column("loads") > 0 ? column("loads") : 1) : \
	column("loads")
bar = 0.8 / n_bars
x(k) = setting(k) && place(strcol("program")) ? place(strcol("program")) + (k - (n_bars + 1) / 2.0) * bar : NaN

set xrange [0.4:n_programs + 0.6]
set boxwidth bar
set logscale y 10
set yrange [figure == 10 ? 0.1 : 0.7:*]
set format y figure == 10 ? "%g" : "10^%T"
set xtics ("" -9) rotate by -30
set bmargin at screen 0.22
set for [p=1:n_programs] xtics add (word(programs, p) p)
plot for [k=1:n_bars] csv using (x(k)):(height(k)) with boxes lc rgb colours[k] title word(names, k), \
	for [k=1:n_bars] csv using (figure > 10 ? x(k) : NaN):(height(k)):(sprintf("%d", height(k))) with labels offset 0,0.5 \
		font ",8" notitle
