# The numbers that one layer gives to its activation for the sentence, and what SiLU makes of them.
height = 480
load "figures/style.gp"
file = data . "/02_sentence.dat"
unset key
set style fill solid 1 noborder
set boxwidth 0.1
set xrange [-6:6]; set xtics 2
set border 1; unset ytics; set grid noytics
set multiplot layout 2, 1 margins 0.06, 0.98, 0.1, 0.9 spacing 0.09 \
    title "About half of the inputs are negative, and SiLU turns them into nearly 0" font ",18"
set ylabel "how many" offset 1
set label 1 "before: x" at -5.9, graph 0.85 left textcolor rgb black
plot file using 1:($1 < 0 ? $2 : 0) with boxes linecolor rgb vermillion, file using 1:($1 > 0 ? $2 : 0) with boxes linecolor rgb blue
set label 1 "after: silu(x)" at -5.9, graph 0.85 left textcolor rgb black
set label 2 "every negative input\nends between −0.28 and 0" at -0.5, graph 0.85 right textcolor rgb vermillion
plot file using 1:($1 < 0 ? $3 : 0) with boxes linecolor rgb vermillion, file using 1:($1 > 0 ? $3 : 0) with boxes linecolor rgb blue
unset multiplot
