# The scores of 128 queries and 128 keys in squares of 16 x 16: skipped, in part, whole.
height = 600
load "figures/style.gp"

set title "Causal attention skips the squares above the diagonal and computes only a part of those on it"
set xlabel "key"
set ylabel "query"
set xrange [-1:215]
set yrange [129:-1]
set xtics 0, 16, 128
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
# The names, beside the picture.
do for [i = 0:2] {
    y = 30 + 22 * i
    set object 10 + i rectangle from 140, y - 5 to 150, y + 5 front fillcolor rgb (i == 0 ? blue : i == 1 ? sky : "#eeeeee") fillstyle solid noborder
}
set object 20 polygon from 140, 47 to 150, 47 to 150, 57 to 140, 47 fillcolor rgb "#c5e3f6" fillstyle solid noborder front
set label "28 squares computed whole" at 153, 30 left front textcolor rgb black
set label "8 squares computed in part" at 153, 52 left front textcolor rgb black
set label "28 squares skipped" at 153, 74 left front textcolor rgb black
box = 15.2
plot file using (left(0)):($1 + 0.4):(left(0)):(left(0) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb "#eeeeee", \
     file using (left(1)):($1 + 0.4):(left(1)):(left(1) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb sky, \
     file using (left(2)):($1 + 0.4):(left(2)):(left(2) + box):($1 + 0.4):($1 + 0.4 + box) with boxxyerror linecolor rgb blue
