# The weights of a matrix as a histogram, and the values that 4 bits can have for them.
height = 460
load "figures/style.gp"
file = data."/13_levels.dat"
stats file index 0 using 2 nooutput; highest = STATS_max
stats file index 1 using (abs($1)) nooutput; farthest = STATS_max # of the levels
set label "Sixteen values for a whole matrix are far apart; for 32 of its weights they are close" at screen 0.5, screen 0.92 center font ",18" textcolor rgb black
set xlabel "weight of down\\_proj in layer 3"
set ylabel "percentage of the weights"
set xrange [-1.03 * farthest:1.03 * farthest]
set yrange [0:1.8 * highest]
set ytics 0, 2, highest
set style fill solid
set rmargin 24; set tmargin 3.4
set label "one scale per tensor" at graph 1.01, first 1.72 * highest left textcolor rgb vermillion
set label "one scale per block" at graph 1.01, first 1.55 * highest left textcolor rgb blue
set label "the block's 32 weights" at graph 1.01, first 1.38 * highest left textcolor rgb black
plot file index 0 using 1:2:(0.009) with boxes linecolor rgb "#cfcfcf", \
     file index 1 using 1:(1.69 * highest):(0):(0.07 * highest) with vectors nohead linetype 2, \
     file index 2 using 1:(1.52 * highest):(0):(0.07 * highest) with vectors nohead linetype 1, \
     file index 3 using 1:(1.35 * highest):(0):(0.07 * highest) with vectors nohead linecolor rgb black linewidth 1
