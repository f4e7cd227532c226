# The three pieces of a blocked GEMM, and where each of them stays: block, panel and tile.
height = 600
load "figures/style.gp"
eval sheet("A tile is summed in registers; its panel stays in a cache while rows of x pass")
set xrange [0:100]; set yrange [0:68.5714]
# weight, above y: transposed, so that an output is a column; x to the left of y
eval box(46, 34, 46, 26, pale, grey)
eval box(60, 47, 6, 13, orange, orange)
eval box(6, 6, 34, 24, pale, grey)
eval box(6, 6, 17, 24, "#c5e3f6", sky)
eval box(6, 21, 17, 3.4, blue, blue)
eval box(46, 6, 46, 24, pale, grey)
eval box(60, 21, 6, 3.4, vermillion, vermillion)
set label "x: one token per row" at 23, 4 center front textcolor rgb grey
set label "y" at 69, 4 center front textcolor rgb grey
set label "the weight, transposed: one output per column" at 69, 62 center front textcolor rgb grey
set label "panel KC × NR, packed:\n1024 × 32 weights,\n128 KiB, in L2\n(rung 6: 256 × 32, in L1)" at 68, 55.5 left front textcolor rgb black font ",15"
set label "block MC × KC: 512 rows of\n1024 numbers, 2 MB, in L2 and L3" at 6.8, 35.5 left front textcolor rgb black
set label "MR = 12 rows" at 7, 22.6 left front textcolor rgb "#ffffff"
set label "tile MR × NR:\n12 × 32 sums,\nin 24 registers" at 68, 24 left front textcolor rgb black
set arrow from 23.5, 22.7 to 59.3, 22.7 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set arrow from 63, 46.5 to 63, 25.2 linewidth 2 linecolor rgb orange size 1.5, 25 filled front
set arrow from 14.5, 20.4 to 14.5, 8 linewidth 2 linecolor rgb blue size 1.2, 25 filled front
set label "tile after tile,\ndown the block;\nthe panel stays" at 24.5, 17.5 left front textcolor rgb black font ",13"
plot NaN
