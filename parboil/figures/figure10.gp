# SPDX-License-Identifier: MIT
csv = ARG1; out = ARG2; caption = ARG3
title = "Figure 10: where the time goes with rolling"
load ARG0[1:strstrt(ARG0, "figure10.gp") - 1]."style.gp"

set ylabel "share of the time, %"
stats csv using "kernel_percent_median" name "kernel" nooutput
set yrange [0:100]
set xrange [-0.6:kernel_records - 0.4]

array colours[6] = [blue, orange, yellow, vermilion, green, grey]
array titles[6] = ["kernel", "to the device", "from the device", "faults", "file I/O", "CPU, the rest"]
names = "kernel h2d d2h fault io cpu"
share(k) = column(word(names, k)."_percent_median")
# Medians of parts need not be 100 together.
sum_to(n) = sum [i=1:n] share(i)
edge(n) = 100 * sum_to(n) / sum_to(6)
plot csv using 0:(NaN):xtic(1) notitle, \
	for [k=1:6] csv using 0:(edge(k)):($0 - 0.3):($0 + 0.3):(edge(k - 1)):(edge(k)) with boxxyerror lc rgb colours[k] \
		title titles[k]
