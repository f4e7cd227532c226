# A block of queries stays in the cache, while tiles of keys and values come by.
height = 430
load "figures/style.gp"
eval sheet("A block of queries stays in the cache, while tiles of keys and values come by")
set xrange [0:100]; set yrange [0:49.45]
name(text, x, y, colour) = sprintf("set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'", text, x, y, colour)
now = 3
# The memory: eight tiles of K and V, and beside them three blocks of Q.
do for [i = 0:2] { eval box(27, 14.5 - 4.3 * i, 8, 3.5, i == 0 ? blue : pale, i == 0 ? blue : grey) }
do for [i = 0:7] {
    y = 36 - 4.3 * i
    eval box(4, y, 8, 3.5, i == now ? vermillion : pale, i == now ? vermillion : grey)
    eval box(13, y, 8, 3.5, i == now ? orange : pale, i == now ? orange : grey)
}
eval name("Q", 31, 20.5, black)
eval name("K", 8, 42, black)
eval name("V", 17, 42, black)
set label "memory" at 19, 2 center front textcolor rgb grey
# The cache
set object 900 rectangle from 52, 5 to 97, 40 behind fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb grey linewidth 1.5 dashtype 2
set label "cache" at 74.5, 2 center front textcolor rgb grey
eval box(56, 12, 9, 4, blue, blue)
eval name("Q", 60.5, 14, "#ffffff")
eval box(56, 27, 9, 4, vermillion, vermillion)
eval name("K", 60.5, 29, "#ffffff")
eval box(67, 27, 9, 4, orange, orange)
eval name("V", 71.5, 29, "#ffffff")
eval box(67, 12, 3, 4, "#ffffff", blue)
eval name("m", 68.5, 14, blue)
eval box(70.6, 12, 3, 4, "#ffffff", blue)
eval name("l", 72.1, 14, blue)
eval box(74.2, 12, 9, 4, "#ffffff", blue)
eval name("O", 78.7, 14, blue)
set label "one tile after the other:\neach is read, used by all\nqueries of the block,\nand forgotten" at 77.5, 36.5 left front textcolor rgb black font ",13"
set label "the block stays until all tiles have come by" at 56, 8.7 left front textcolor rgb black font ",13"
set arrow from 22, 24.9 to 55, 29 linewidth 2 linecolor rgb vermillion size 1.5, 25 filled back
set arrow from 36, 16.2 to 55, 14 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set label "again for each block" at 33, 29.8 left front textcolor rgb vermillion font ",13"
set label "once" at 43, 18 left front textcolor rgb blue font ",13"
set arrow from 60.5, 26.3 to 60.5, 16.8 linewidth 1.5 linecolor rgb grey size 1, 25 filled front
set label "scores" at 61.5, 22 left front textcolor rgb grey font ",13"
set arrow from 71.5, 26.3 to 77, 16.8 linewidth 1.5 linecolor rgb grey size 1, 25 filled front
set label "weighted" at 75.5, 22 left front textcolor rgb grey font ",13"
set arrow from 83.6, 14 to 96, 14 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set label "out = O / l" at 84.2, 17 left front textcolor rgb blue font ",13"
plot NaN
