# The sets of a first-level cache: where 16 lines go of rows that lie 8 KiB apart, and where the same 16 go once they are packed.
height = 440
load "figures/style.gp"
eval sheet("Rows that are 8 KiB apart crowd into one set of the L1 cache; packed, they spread")
SETS = 20; WAYS = 8; cell = 19 # of 64 sets, the ones in the middle of the picture
array left[2] = [20, 460]
array name[2] = ["in the matrix: 16 rows, 8 KiB apart", "packed: side by side"]
ground = 80
full = 2 # the set, or the first of the sets, that the lines want
line(x, y, fill, edge) = box(x + 1.5, y + 1.5, cell - 3, cell - 3, fill, edge)
do for [k = 1:2] {
    do for [s = 0:SETS - 1] {
        do for [w = 0:WAYS - 1] {
            taken = k == 1 ? s == full : s >= full && s < full + 16 && w == 0
            eval line(left[k] + s * cell, ground + w * cell, taken ? blue : pale, taken ? blue : faint)
        }
    }
    set label name[k] at left[k] + SETS * cell / 2, height - 62 center front
    set label "20 of the 64 sets" at left[k] + SETS * cell / 2, ground - 16 center front textcolor rgb grey font ",14"
    eval go(left[k] + SETS * cell / 2 + 75, ground - 16, left[k] + SETS * cell, ground - 16, grey)
    eval go(left[k] + SETS * cell / 2 - 75, ground - 16, left[k], ground - 16, grey)
}
do for [w = WAYS:15] { eval line(left[1] + full * cell, ground + w * cell, "#ffffff", vermillion) }
set label "a set has 8 places:\n8 of the 16 lines find none,\nand drive the others out" at left[1] + (full + 1.5) * cell, ground + 13.3 * cell left front textcolor rgb vermillion
set label "16 lines in 16 sets,\nand 7 places are left in each" at left[2] + full * cell, ground + 10.3 * cell left front textcolor rgb blue
set label "a square is a line of 64 bytes" at 430, 24 center front textcolor rgb grey font ",14"
plot NaN
