# The rows of one head of q_proj in the two orders, for a head of 8.
figure = "14_rows"; height = 330
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


# A GGUF file from its first byte to its last: tests/golden/gguf/plain.gguf, as build/14_engine prints it.
figure = "14_gguf"; height = 400
load "figures/style.gp"
eval sheet("A GGUF file: header, metadata, tensor infos, and then the numbers")
# The five parts, not to scale.
array edges[6] = [70, 190, 380, 570, 690, 830]
array names[5] = ["header", "metadata", "tensor infos", "padding", "data"]
array starts[5] = [0, 24, 591, 1280, 1280]
array says1[5] = ["GGUF, version", "key, type, value", "name, shape", "to a multiple", "numbers"]
array says2[5] = ["how many", "llama.block\\_count: 1", "type, offset", "of 32: none", "and blocks"]
array colours[5] = [vermillion, orange, green, grey, blue]
do for [i = 1:5] {
    eval box(edges[i], 250, edges[i + 1] - edges[i], 70, "#ffffff", colours[i])
    set label names[i] at (edges[i] + edges[i + 1]) / 2.0, 335 center front textcolor rgb colours[i]
    set label says1[i] at (edges[i] + edges[i + 1]) / 2.0, 297 center front font ",13"
    set label says2[i] at (edges[i] + edges[i + 1]) / 2.0, 273 center front font ",13"
    set label sprintf("%d", starts[i]) at edges[i], 238 left front textcolor rgb grey font ",12"
}
set label "82688" at 830, 238 right front textcolor rgb grey font ",12"
set label "byte" at 60, 238 right front textcolor rgb grey font ",12"
# The data, to scale: where each tensor begins.
array at[13] = [1280, 17664, 17920, 18176, 26368, 30464, 32640, 49024, 61312, 73600, 80128, 80384, 82688]
array tensor[12] = ["token\\_embd", "", "", "attn\\_q", "attn\\_k", "", "attn\\_output", "ffn\\_gate", "ffn\\_down", "ffn\\_up", "", ""]
array kind[12] = ["F32", "", "", "F16", "BF16", "", "F32", "F16", "BF16", "Q8\\_0", "", ""]
scale(b) = 30 + 800.0 * (b - 1280) / (82688 - 1280)
set arrow from 690,225 to 30,165 nohead linecolor rgb faint front
set arrow from 830,225 to 830,165 nohead linecolor rgb faint front
do for [i = 1:12] {
    eval box(scale(at[i]), 90, scale(at[i + 1]) - scale(at[i]), 70, "#ffffff", blue)
    middle = (scale(at[i]) + scale(at[i + 1])) / 2.0
    set label tensor[i] at middle, 137 center front font ",12"
    set label kind[i] at middle, 112 center front font ",12" textcolor rgb blue
}
set label "attn\\_v: Q8\\_0" at scale(31500), 70 center front font ",12"
set arrow from scale(31500),79 to scale(31500),88 nohead linecolor rgb grey front
set label "two norms: F32" at scale(17900), 70 center front font ",12"
set arrow from scale(17900),79 to scale(17900),88 nohead linecolor rgb grey front
set label "output: Q4\\_0" at 835, 70 right front font ",12"
set arrow from scale(81500),79 to scale(81500),88 nohead linecolor rgb grey front
set label "norm: F32" at scale(71500), 70 center front font ",12"
set arrow from scale(75500),76 to scale(80250),88 nohead linecolor rgb grey front
set label "Top: the file, not to scale. Bottom: its data, to scale. Each tensor has its own type and begins at a multiple of 32." at 430, 25 center front textcolor rgb grey font ",14"
plot NaN
