# What is left of a score that is computed with the other pairing.
height = 400
load "figures/style.gp"

set title "The wrong pairing is right at distance 0, and its scores drift away with distance"
set xlabel "distance between query and key"
set ylabel "correlation with the right score"
set xrange [-1:122]
set yrange [0:1.05]
set xtics 0, 20
set ytics 0.25
file = data."/05_mixed.dat"
says(d, r) = sprintf("%.2f at %d", r, d)
plot file using 1:2 with lines linetype 2, \
     file using ($1 == 0 || $1 == 5 || $1 == 20 || $1 == 100 ? $1 : NaN):2 with points linetype 2 pointtype 7 pointsize 0.9, \
     file using ($1 == 0 || $1 == 5 || $1 == 20 || $1 == 100 ? $1 + 1.8 : NaN):($2 + 0.045):(says($1, $2)) \
         with labels left textcolor rgb black
