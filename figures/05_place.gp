# The score of one query with one key, wherever the text begins: with places added to them, with sines added, and with both turned.
height = 380
load "figures/style.gp"

file = data."/05_place.dat"
stats file using 3 nooutput name "SINES"
stats file using 4 nooutput name "TURNED"
highest = SINES_max > TURNED_max ? SINES_max : TURNED_max
lowest = SINES_min < 0 ? SINES_min : 0
set multiplot layout 1, 3 margins 0.12, 0.98, 0.21, 0.77 spacing 0.08 \
    title "Only when both are turned does their score not depend on where the text begins" font ",18"
set title font ",16" offset 0, -0.3
set xrange [0:400]
set xtics 200
set ylabel "score"
set title "the place added" textcolor rgb vermillion
set yrange [0:6e6]
set ytics ("0" 0, "2 million" 2e6, "4 million" 4e6, "6 million" 6e6)
plot file using 1:2 with lines linetype 2
unset ylabel
set xlabel "position at which the text begins"
set title "sines of the place added" textcolor rgb orange
set yrange [lowest:1.2 * highest]
set ytics autofreq 50
plot file using 1:3 with lines linetype 5
unset xlabel
set title "both turned" textcolor rgb blue
plot file using 1:4 with lines linetype 1
unset multiplot
