# Makes a C string of each line.
s/\\/\\\\/g
s/"/\\"/g
s/^/"/
s/$/\\n"/
