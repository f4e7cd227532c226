# The table of cosines: 64 pairs of a head of 128, 256 positions.
height = 430
load "figures/style.gp"

set title "The cosine table: each pair is a clock, each slower than the last"
set xlabel "position"
set ylabel "pair i"
set xrange [-0.5:255.5]
set yrange [63.5:-0.5]
set xtics 0, 32, 255
set ytics add ("63" 63) 0, 16, 48
set cbrange [-1:1]
set cbtics ("−1" -1, "0" 0, "1" 1)
set border 0
unset grid
set colorbox user origin 0.905, 0.25 size 0.02, 0.5 noborder
set label "cosine" at screen 0.915, 0.80 center
set rmargin at screen 0.88
plot data."/04_table.dat" matrix using 2:1:3 every 1:1:0:0:63:255 with image
