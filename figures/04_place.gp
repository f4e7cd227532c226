# The score of one query with one key, wherever the text begins: with places added to them, and with both turned.
height = 380
load "figures/style.gp"

file = data."/04_place.dat"
stats file using 3 nooutput name "SINES"
stats file using 4 nooutput name "TURNED"
highest = SINES_max > TURNED_max ? SINES_max : TURNED_max
lowest = SINES_min < 0 ? SINES_min : 0
set multiplot layout 1, 2 margins 0.12, 0.98, 0.21, 0.79 spacing 0.09 \
    title "Only when both are turned does their score not depend on where the text begins" font ",18"
set title font ",16" offset 0, -0.5
set xlabel "the text begins at position"
set xrange [0:400]
set xtics 100
set title "score, the number of the place added" textcolor rgb vermillion
set yrange [0:6e6]
set ytics ("0" 0, "3·10⁶" 3e6, "6·10⁶" 6e6)
plot file using 1:2 with lines linetype 2
set title "score, sines added, or both turned" textcolor rgb black
set yrange [lowest:1.6 * highest] # above the lines is room for their names
set ytics autofreq
plot file using 1:3 with lines linetype 5 title "sines of the place added", \
     file using 1:4 with lines linetype 1 title "both turned"
unset multiplot
