# One layer of attention as shapes, to scale: T hidden states of C features, six heads whose outputs have D numbers, and C features again.
height = 410
load "figures/style.gp"
eval sheet("The outputs of six heads are concatenated and mixed by W_o")
H = 6; wide = 20; high = 34 # of a head's output: D numbers for T tokens
middle = 190 # where the stream lies
step = 48
x_left = 14; head_left = 210; brings = 440; beside = 540; out_left = 726

eval box(x_left, middle - high / 2, H * wide, high, pale, grey)
set label "x" at x_left + H * wide / 2, middle center front
do for [h = 0:H - 1] {
    y = middle + (2.5 - h) * step
    eval go(x_left + H * wide + 4, middle, head_left - 4, y, grey)
    eval box(head_left, y - high / 2, 160, high, "#ffffff", blue)
    set label sprintf("head %d", h) at head_left + 80, y center front textcolor rgb blue
    eval go(head_left + 164, y, brings - 4, y, grey)
    eval box(brings, y - high / 2, wide, high, blue, blue)
    set label sprintf("%d", h) at brings + wide / 2, y center front textcolor rgb "#ffffff" font ",14"
    eval go(brings + wide + 4, y, beside - 4, middle, grey)
    eval box(beside + h * wide, middle - high / 2, wide, high, blue, "#ffffff")
    set label sprintf("%d", h) at beside + (h + 0.5) * wide, middle center front textcolor rgb "#ffffff" font ",14"
}
eval go(beside + H * wide + 4, middle, out_left - 4, middle, grey)
set label "W_o" at (beside + H * wide + out_left) / 2, middle + 18 center front
eval box(out_left, middle - high / 2, H * wide, high, pale, grey)
set label "out" at out_left + H * wide / 2, middle center front

above(x, text) = sprintf("set label '%s' at %g, %g center front font ',14'", text, x, middle + 36)
below(x, y, text) = sprintf("set label '%s' at %g, %g center front textcolor rgb grey font ',14'", text, x, y)
eval above(x_left + H * wide / 2, "normalized states")
eval above(beside + H * wide / 2, "concatenated")
eval above(out_left + H * wide / 2, "added to the stream")
set label "each attends in its own way" at head_left + 80, middle + 2.5 * step + 34 center front font ",14"
eval below(x_left + H * wide / 2, middle - 36, "[T, C]")
eval below(brings + wide / 2, middle - 2.5 * step - 36, "[T, D] each")
eval below(beside + H * wide / 2, middle - 36, "[T, H·D]")
eval below(out_left + H * wide / 2, middle - 36, "[T, C]")
plot NaN
