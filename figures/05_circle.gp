# Three pairs of a head of 32 at positions 0 to 15, each on its unit circle.
height = 380
load "figures/style.gp"

set title font ",16"
set multiplot layout 1, 3 margins 0.01, 0.99, 0.02, 0.78 spacing 0.02 \
    title "Sixteen positions: fast pairs separate neighbours, slow pairs separate far positions" font ",18"
set size ratio -1
set xrange [-1.32:1.32]
set yrange [-1.32:1.32]
unset tics
unset border
unset grid
file = data."/05_circle.dat"
cosine(n) = column(2 * n)
sine(n) = column(2 * n + 1)
array says[3] = ["pair 0: 57° a step", "pair 3: 10° a step", "pair 8: 0.6° a step"]
array labelled[3] = [1, 1, 15]
do for [n = 1:3] {
    set title says[n]
    plot file using (0):(0):(cosine(n)):(sine(n)) with vectors nohead linecolor rgb faint linewidth 1, \
         file using (cosine(n)):(sine(n)) with points linetype n pointtype 7, \
         file using (1.17 * cosine(n)):(1.17 * sine(n)):(sprintf("%d", $1)) every labelled[n] \
             with labels textcolor rgb black
}
unset multiplot
