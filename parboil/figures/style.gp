# SPDX-License-Identifier: MIT
# What all figures have in common. They are called as gnuplot -d -c figureN.gp CSV OUT CAPTION BASE; each has
# the first three in csv, out, caption, and its own name in title, before it loads this file.

if (out[strlen(out) - 3:] eq ".svg") {
	set terminal svg size 800,500 font "DejaVu Sans,12" noenhanced background rgb "white"
} else {
	set terminal pngcairo size 800,500 font "DejaVu Sans,9.5" noenhanced
}
set output out
set encoding utf8
set datafile separator comma
set datafile columnheaders

# Colours that colour-blind readers can tell apart (Okabe and Ito).
black = 0x000000
grey = 0x999999
orange = 0xe69f00
sky = 0x56b4e9
green = 0x009e73
yellow = 0xf0e442
blue = 0x0072b2
vermilion = 0xd55e00

set border 3 lc rgb "#404040"
set tics nomirror out
set grid ytics lc rgb "#d0d0d0" lw 1
set tmargin at screen 0.86
set bmargin at screen 0.17
set lmargin at screen 0.1
set rmargin at screen 0.975
set label 2 title at screen 0.5, screen 0.96 center font ",11"
set key at screen 0.5, screen 0.93 center top horizontal Left reverse samplen 1.5 maxrows 1
set label 1 caption at screen 0.015, screen 0.065 left font ",8" textcolor rgb "#404040"
set style fill solid 1.0 noborder
