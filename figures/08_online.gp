# One query, 256 keys in tiles of 16: the scores with the running maximum, and under them the running sum.
height = 620
load "figures/style.gp"

file = data."/08_online.dat"
stats file index 1 every ::0::0 using 2 nooutput name "FIRST" # the maximum after the first tile
set multiplot layout 2, 1 margins 0.07, 0.97, 0.14, 0.91 spacing 0, 0.07 \
    title "When a tile brings a larger score, what was summed so far shrinks" font ",18"
set xrange [0:258]
unset key
do for [x in "32 48 240"] { set arrow from x, graph 0 to x, graph 1 nohead linecolor rgb grey linewidth 1 dashtype 2 back }

set xtics 64 format ""
set yrange [-6.8:6.8]
set ytics 3
set label 1 "the maximum so far" at 136, 5.9 center textcolor rgb blue
set label 2 "the score of each key" at 136, -6.1 center textcolor rgb grey
highest = -99
set arrow 8 from 0, FIRST_max to 16, FIRST_max nohead linecolor rgb blue linewidth 2.4
plot file index 1 using 1:2 with fsteps linetype 1, \
     file index 0 using 1:2 with points pointtype 7 pointsize 0.35 linecolor rgb grey, \
     file index 0 using 1:($2 > highest ? highest = $2 : NaN) with points pointtype 7 pointsize 0.6 linecolor rgb blue

unset arrow 8
set xtics 64 format "%g"
set xlabel "keys read, 16 a tile"
set yrange [0:11]
set ytics 2.5
set label 1 "the sum of e^{score − maximum}" at 140, 7.3 right textcolor rgb vermillion
set label 2 "a larger score: 8.8 shrinks to 5.5,\nthen the tile is added" at 232, 2.2 right textcolor rgb black
set label 3 "one softmax over all 256" at 257, 10.3 right textcolor rgb black
set arrow 9 from 256, 9.8 to 256, 8 linecolor rgb black
plot file index 1 using 1:3 with lines linetype 2, \
     file index 1 using 1:3 with points linetype 2 pointtype 7, \
     file index 2 using 1:3 with points pointtype 6 pointsize 1.3 linewidth 1.5 linecolor rgb black
unset multiplot
