# The weights of a matrix as a histogram, and the levels that 4 bits have for them.
height = 460
load "figures/style.gp"
file = data."/13_levels.dat"
set title "Sixteen levels for a whole matrix, and sixteen for 32 of its weights"
set xlabel "weight of down\\_proj, layer 3"
set ylabel "share of the weights, %"
set xrange [-0.78:0.78]
set yrange [0:10.4]
set ytics (0, 2, 4, 6)
set style fill solid
set rmargin 24
set label "one scale for the matrix" at 0.8, 10.0 left textcolor rgb vermillion
set label "one scale for a block" at 0.8, 9.1 left textcolor rgb blue
set label "the block's 32 weights" at 0.8, 8.2 left textcolor rgb black
plot file index 0 using 1:2:(0.009) with boxes linecolor rgb "#cfcfcf", \
     file index 1 using 1:(9.8):(0):(0.4) with vectors nohead linetype 2, \
     file index 2 using 1:(8.9):(0):(0.4) with vectors nohead linetype 1, \
     file index 3 using 1:(8.0):(0):(0.4) with vectors nohead linecolor rgb black linewidth 1
