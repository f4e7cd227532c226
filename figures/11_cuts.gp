# One distribution, and where three filters end it.
height = 560
load "figures/style.gp"
file = data."/11_next.dat"

# How many tokens min-p 0.1 and top-p 0.9 keep.
stats file using 4 nooutput; largest = STATS_max
stats file using ($4 >= 0.1 * largest ? 1 : 0) nooutput; min_p = STATS_sum
stats file using ($5 - $4 < 0.9 ? 1 : 0) nooutput; top_p = STATS_sum
most = top_p + 6.6

set multiplot
set lmargin 11; set rmargin 3
set xrange [0.4:most]
unset key
set grid noxtics
set ytics 0.1
set style fill solid 0.85 noborder
set boxwidth 0.75
k = 5
beside = 0.05 # top-k and top-p may end at the same token: then their lines stand side by side
keep(x, text, at, side, y, colour) = sprintf("set arrow from %g, graph 0 to %g, graph 1 nohead linewidth 2 linecolor rgb '%s' dashtype 2; set label '%s' at %g, graph %g %s textcolor rgb '%s' font ',15'", x, x, colour, text, at, y, side, colour)

set title "Top-k counts, min-p compares with the most likely token, top-p adds up"
set origin 0, 0.45; set size 1, 0.55
set tmargin 3; set bmargin 0.6
set yrange [0:1.13 * largest]
set ylabel "probability"
set format x ""
eval keep(k + 0.5 - beside, "top-k 5", k + 0.3, "right", 0.84, purple)
eval keep(min_p + 0.5, "min-p 0.1", min_p + 0.32, "right", 0.84, vermillion)
eval keep(top_p + 0.5 + beside, "top-p 0.9", top_p + 0.68, "left", 0.84, green)
set arrow from 0.4, 0.1 * largest to most, 0.1 * largest nohead linewidth 1.5 linecolor rgb vermillion
set label "a tenth of the largest" at most - 0.1, 0.163 * largest right textcolor rgb vermillion
plot file using 1:4 with boxes linecolor rgb blue

unset arrow; unset label; unset title
set origin 0, 0; set size 1, 0.45
set tmargin 0.6; set bmargin 3.5
set yrange [0:1.08]
set ytics 0.2
set ylabel "cumulative sum"
set format x "%g"
set xtics rotate by 30 right
eval keep(k + 0.5 - beside, "", 0, "left", 0.5, purple)
eval keep(min_p + 0.5, "", 0, "left", 0.5, vermillion)
eval keep(top_p + 0.5 + beside, "", 0, "left", 0.5, green)
set arrow from 0.4, 0.9 to most, 0.9 nohead linewidth 1.5 linecolor rgb green
set label "0.9" at 0.5, 0.98 left textcolor rgb green
quote(name) = strlen(name) ? name : "\"" # gnuplot takes a quotation mark for the beginning of a text
plot file using 1:5:xtic(quote(strcol(8))) with boxes linecolor rgb sky
unset multiplot
