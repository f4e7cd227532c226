# The scores of 128 queries and 128 keys in tiles of 16 x 16: skipped, in part, whole.
height = 620
load "figures/style.gp"

set title "Nearly half of the tiles are never touched; those on the diagonal are used in part"
set xlabel "key"
set ylabel "query"
set xrange [-1:129]
set yrange [129:-1]
set xtics 16
set ytics 16
set size ratio -1
set border 0
unset grid
unset key
set style fill solid noborder
file = data."/08_tiles.dat"
left(kind) = column(3) == kind ? column(2) + 0.4 : NaN
do for [i = 0:7] {
    a = 16 * i + 0.4
    b = a + 15.2
    set object i + 1 polygon from a, a to b, a to b, b to a, a fillcolor rgb "#c5e3f6" fillstyle solid noborder front
}
set label "28 tiles skipped" at 97.5, 40 center front textcolor rgb black
set object 9 rectangle from 14, 101 to 66, 107 fillcolor rgb blue fillstyle solid noborder front
set label "28 tiles computed whole" at 40, 104 center front textcolor rgb "#ffffff"
set label "8 tiles in part" at 52, 8 left front textcolor rgb black
set arrow from 50.5, 8 to 29, 20 front linecolor rgb black
box = 15.2
plot file using (left(0)):($1 + 0.4):(left(0)):(left(0) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb "#eeeeee", \
     file using (left(1)):($1 + 0.4):(left(1)):(left(1) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb sky, \
     file using (left(2)):($1 + 0.4):(left(2)):(left(2) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb blue
