# A block of queries stays in fast memory, while tiles of keys and values pass through it.
height = 430
load "figures/style.gp"
eval sheet("A block of queries stays in fast memory while tiles of keys and values stream past")
set xrange [0:100]; set yrange [0:49.45]
name(text, x, y, colour) = sprintf("set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'", text, x, y, colour)
now = 3
# Main memory: eight tiles of K and V, and beside them three blocks of Q.
do for [i = 0:2] { eval box(27, 14.5 - 4.3 * i, 8, 3.5, i == 0 ? blue : pale, i == 0 ? blue : grey) }
do for [i = 0:7] {
    y = 36 - 4.3 * i
    eval box(4, y, 8, 3.5, i == now ? vermillion : pale, i == now ? vermillion : grey)
    eval box(13, y, 8, 3.5, i == now ? orange : pale, i == now ? orange : grey)
}
eval name("Q", 31, 20.5, black)
eval name("K", 8, 42, black)
eval name("V", 17, 42, black)
set label "main memory: large and slow" at 19, 2 center front textcolor rgb grey
# Fast memory
set object 900 rectangle from 52, 5 to 97, 40 behind fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb grey linewidth 1.5 dashtype 2
set label "cache: small and fast" at 74.5, 2 center front textcolor rgb grey
eval box(56, 31, 9, 4, vermillion, vermillion)
eval name("K", 60.5, 33, "#ffffff")
eval box(71, 31, 9, 4, orange, orange)
eval name("V", 75.5, 33, "#ffffff")
eval box(56, 13, 9, 4, blue, blue)
eval name("Q", 60.5, 15, "#ffffff")
eval box(69, 13, 3.4, 4, "#ffffff", blue)
eval name("m", 70.7, 15, blue)
eval box(73, 13, 3.4, 4, "#ffffff", blue)
eval name("l", 74.7, 15, blue)
eval box(77, 13, 7, 4, "#ffffff", blue)
eval name("O", 80.5, 15, blue)
set label "one tile at a time; the next replaces it" at 56, 37.3 left front textcolor rgb vermillion font ",14"
set label "one block stays until every tile has passed" at 56, 9 left front textcolor rgb blue font ",14"
set arrow from 22, 24.9 to 55, 33 linewidth 2 linecolor rgb vermillion size 1.5, 25 filled back
set arrow from 36, 16.2 to 55, 15 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set label "once per block" at 31, 31 center front textcolor rgb vermillion font ",14"
set label "once" at 45.5, 17.8 center front textcolor rgb blue font ",14"
set arrow from 60.5, 30.3 to 60.5, 17.8 linewidth 1.5 linecolor rgb grey size 1, 25 filled front
set label "scores" at 61.3, 24 left front textcolor rgb grey font ",14"
set arrow from 75.5, 30.3 to 79.5, 17.8 linewidth 1.5 linecolor rgb grey size 1, 25 filled front
set label "weighted sum" at 78.7, 24 left front textcolor rgb grey font ",14"
set arrow from 84.6, 15 to 99.5, 15 linewidth 2 linecolor rgb blue size 1.5, 25 filled front
set label "O / l" at 90.5, 17.3 center front textcolor rgb blue font ",14"
plot NaN
