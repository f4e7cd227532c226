# Which pairs make the scores of two heads of the course's model: one that attends to the previous token, one that finds the owner.
height = 380
load "figures/style.gp"

file = data."/05_heads.dat"
stats file using ($2 > $3 ? $2 : $3) nooutput name "SHARE" # the largest of either head
set title "The previous-token head uses fast pairs; the name-finding head uses slow ones"
set xlabel "pair i, from the fastest to the slowest"
set ylabel "share in the head's scores, %"
set xrange [-0.7:15.7]
set yrange [0:1.35 * SHARE_max] # above the bars is room for their names
set xtics 0, 1, 15
set ytics 0, 10
set grid noxtics
set style fill solid 1 noborder
set boxwidth 0.38
set key right top Right noreverse
plot file using ($1 - 0.2):2 with boxes linecolor rgb blue title "the head that attends to the previous token", \
     file using ($1 + 0.2):3 with boxes linecolor rgb orange title "the head that finds the owner's name"
