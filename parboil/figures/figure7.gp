# SPDX-License-Identifier: MIT
csv = ARG1; out = ARG2; caption = ARG3
against = ARG4 eq "explicit" ? "explicit copies" : ARG4
title = "Figure 7: slow-down of the protocols against ".against
load ARG0[1:strstrt(ARG0, "figure7.gp") - 1]."style.gp"

set ylabel "time / time with ".against
stats csv using "batch_ratio_high" name "batch" nooutput
stats csv using "rolling_ratio_high" name "rolling" nooutput
top = batch_max > rolling_max ? batch_max : rolling_max
set logscale y
set yrange [0.5:top * 3]
set xrange [-0.6:batch_records - 0.4]
set boxwidth 0.24
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb black lw 1.5 front

bar(name) = column(name."_ratio_median")
low(name) = column(name."_ratio_low")
high(name) = column(name."_ratio_high")
# Of the bar and of the line at 1.
above(name) = high(name) > 1 ? high(name) : 1
text(name) = sprintf(bar(name) < 10 ? " %.2f" : " %.1f", bar(name))
array at[3] = [-0.26, 0, 0.26]
array colours[3] = [vermilion, orange, blue]
names = "batch lazy rolling"
# With bars from the lower to the upper quartile.
plot csv using 0:(NaN):xtic(1) notitle, \
	for [k=1:3] csv using ($0 + at[k]):(bar(word(names, k))) with boxes lc rgb colours[k] \
		title word(names, k), \
	for [k=1:3] csv using ($0 + at[k]):(low(word(names, k))):(0):(high(word(names, k)) - low(word(names, k))) \
		with vectors heads size screen 0.004,90 lc rgb black notitle, \
	for [k=1:3] csv using ($0 + at[k]):(above(word(names, k))):(text(word(names, k))) \
		with labels rotate left font ",8" notitle
