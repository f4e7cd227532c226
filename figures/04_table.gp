# The cosine of all 64 pairs of a head of 128, theta 10000, at positions 1 to 32768.
height = 440
load "figures/style.gp"

set title "Near tokens are told apart by the fast pairs, far ones by the slow pairs"
set xlabel "position"
set ylabel "pair i" offset 2
set xrange [0:15]
set yrange [63.5:-0.5]
set xtics ("1" 0, "8" 3, "64" 6, "512" 9, "4096" 12, "32768" 15)
set ytics ("fastest, 0" 0, "16" 16, "32" 32, "48" 48, "slowest, 63" 63)
set cbrange [-1:1]
set cbtics ("−1" -1, "0" 0, "1" 1)
set palette defined (-1 blue, 0 "#ffffff", 1 vermillion)
set border 0
unset grid
set object 1 rectangle from 0, -0.5 to 15, 63.5 fillcolor rgb "#c8c8c8" fillstyle solid noborder behind
set label 1 "gone round more than twice" at 11, 14 center textcolor rgb black front
set label 2 "hardly moved yet" at 2.2, 52 center textcolor rgb "#ffffff" front
set label 4 "in the first turn" at 8.9, 35 center rotate by -29 textcolor rgb "#ffffff" front
set colorbox user origin 0.905, 0.25 size 0.02, 0.5 noborder
set label 3 "cosine" at screen 0.915, 0.80 center
set rmargin at screen 0.88
plot data."/04_table.dat" using 1:2:3 with image
