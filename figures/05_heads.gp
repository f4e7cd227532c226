# Which pairs make the scores of two heads of the course's model: one that looks at the token before, one that finds the owner.
height = 380
load "figures/style.gp"

file = data."/05_heads.dat"
stats file using ($2 > $3 ? $2 : $3) nooutput name "SHARE" # the largest of either head
set title "Who looks one token back uses fast pairs; who looks for a word, slow ones"
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
plot file using ($1 - 0.2):2 with boxes linecolor rgb blue title "a head that looks one token back", \
     file using ($1 + 0.2):3 with boxes linecolor rgb orange title "the head that finds the owner"
