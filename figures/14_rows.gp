# The rows of one head of q_proj in the two orders, for a head of 8.
height = 330
load "figures/style.gp"
eval sheet("The same rows in two orders: half-split (Hugging Face), interleaved (Meta, GGUF)")
array colours[4] = [blue, vermillion, green, purple]
wide = 74
left = 130
do for [r = 0:7] {
    x = left + r * wide
    c = colours[r % 4 + 1]
    eval box(x, 200, wide - 10, 40, "#ffffff", c)
    set label sprintf("row %d", r) at x + (wide - 10) / 2.0, 220 center front textcolor rgb c
    to = r < 4 ? 2 * r : 2 * (r - 4) + 1
    y = left + to * wide
    eval box(y, 70, wide - 10, 40, "#ffffff", c)
    set label sprintf("row %d", r) at y + (wide - 10) / 2.0, 90 center front textcolor rgb c
    set label sprintf("%d", to) at y + (wide - 10) / 2.0, 55 center front textcolor rgb grey font ",13"
    set label sprintf("%d", r) at x + (wide - 10) / 2.0, 255 center front textcolor rgb grey font ",13"
    eval go(x + (wide - 10) / 2.0, 198, y + (wide - 10) / 2.0, 113, c)
}
set label "half-split" at 115, 220 right front
set label "interleaved" at 115, 90 right front
set label "Each colour is a pair that RoPE rotates together. The weights are the same; only their order differs." at 430, 22 center front textcolor rgb grey font ",14"
plot NaN
