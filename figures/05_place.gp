# The score of one query with one key, wherever the text begins: with the positions added to them, and with both rotated.
height = 380
load "figures/style.gp"

file = data."/05_place.dat"
stats file using 3 nooutput name "ROTATED"
set multiplot layout 1, 2 margins 0.12, 0.98, 0.21, 0.77 spacing 0.1 \
    title "With the position added, a score depends on where the text begins; rotated, it does not" font ",18"
set title font ",16" offset 0, -0.3
set xrange [0:400]
set xtics 100
set xlabel "position at which the text begins"
set ylabel "score"
set title "position added to query and key" textcolor rgb vermillion
set yrange [0:6e6]
set ytics ("0" 0, "2 million" 2e6, "4 million" 4e6, "6 million" 6e6)
plot file using 1:2 with lines linetype 2
unset ylabel
set title "query and key rotated" textcolor rgb blue
set yrange [0:1.4 * ROTATED_max]
set ytics autofreq 50
plot file using 1:3 with lines linetype 1
unset multiplot
