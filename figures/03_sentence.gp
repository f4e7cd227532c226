# The hidden layer of one token of the sentence: gate, up and their product.
height = 560
load "figures/style.gp"
file = data . "/03_sentence.dat"
stats file using (abs($2) > abs($3) ? abs($2) : abs($3)) nooutput name "FACTOR" # of gates and ups, the largest
stats file using (abs($4)) nooutput name "PRODUCT"
unset key
set xrange [-4:515]; set border 2; unset xtics; set grid noxtics
set xzeroaxis linecolor rgb grey linetype 1 linewidth 0.8
set multiplot layout 3, 1 margins 0.08, 0.98, 0.07, 0.9 spacing 0.07 \
    title "The 512 hidden units of the token “red”: only a few products are large" font ",18"
set ylabel "gate" offset 1; set yrange [-FACTOR_max:FACTOR_max]; set ytics autofreq
plot file using 1:2 with impulses linewidth 1.3 linecolor rgb vermillion
set ylabel "up"
plot file using 1:3 with impulses linewidth 1.3 linecolor rgb blue
set ylabel "silu(gate) · up"; set yrange [*:*]; set ytics 10 * ceil(PRODUCT_max / 25.0)
set xlabel "hidden unit, from 0 to 511"
plot file using 1:4 with impulses linewidth 1.3 linecolor rgb purple
unset multiplot
