# What each of three ranks holds of the course's own model, as the program cuts it.
height = 340
load "figures/style.gp"
file = data."/14_parts.dat"
set title "What each of three ranks holds"
unset border
unset grid
set xrange [-1:101]
set yrange [-0.6:4.2]
set xtics ("0" 0, "a third" 33.33, "two thirds" 66.67, "all" 100)
set ytics ("6 query heads" 3.5, "2 key/value heads" 2.5, "512 hidden features" 1.5, "1024 tokens" 0.5) scale 0
colour(rank) = rank == 0 ? 0x0072B2 : rank == 1 ? 0xD55E00 : 0x009E73
low(row, rank) = row + 0.08 + 0.28 * (2 - rank)
set key above
set style fill solid 0.55 noborder
plot for [i = 0:3] file using ($2):(low(3 - i, $1)):(column(2 + 2 * i)):(column(3 + 2 * i)):(low(3 - i, $1)):(low(3 - i, $1) + 0.26):(colour($1)) with boxxyerror linecolor rgb variable, \
     NaN with boxes linecolor rgb 0x0072B2 title "rank 0", NaN with boxes linecolor rgb 0xD55E00 title "rank 1", NaN with boxes linecolor rgb 0x009E73 title "rank 2"
