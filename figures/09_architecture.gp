# A Llama from the token ids up to the logits, with the shapes of the course's model and its 29 tokens; beside it the decoder of 2017.
height = 940
load "figures/style.gp"
eval sheet("From token ids to logits: a Llama, and the Transformer decoder of 2017")
set xrange [0:100]; set yrange [0:108.622]

# box(x, y, width, text, colour): its centre is at x, y; without a color it is white. plus(x, y): an addition to the stream at x.
n = 0
box(x, y, w, text, colour) = sprintf( \
    "n = n + 1; set object n rectangle center %g,%g size %g,3.6 front fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',13'", \
    x, y, w, colour eq "" ? "#ffffff" : colour, colour eq "" ? grey : colour, text, x, y, colour eq "" ? black : "#ffffff")
plus(x, y) = sprintf( \
    "n = n + 1; set object n circle at %g,%g size 1.3 front fillcolor rgb '#ffffff' fillstyle solid border linecolor rgb orange linewidth 2; set label '+' at %g,%g center front font ',16'", x, y, x, y)
line(x, y, to_x, to_y) = sprintf("set arrow from %g,%g to %g,%g nohead linewidth 1.5 linecolor rgb grey", x, y, to_x, to_y)
go(x, y, to_x, to_y) = sprintf("set arrow from %g,%g to %g,%g linewidth 1.5 linecolor rgb grey size 0.9,25 filled", x, y, to_x, to_y)
flow(x, y, to_y) = sprintf("set arrow from %g,%g to %g,%g linewidth 4 linecolor rgb orange size 1.4,25 filled", x, y, x, to_y)
shape(y, text) = sprintf("set label '%s' at 63, %g right textcolor rgb grey font ',12'", text, y)
name(x, y, text) = sprintf("set label '%s' at %g, %g left textcolor rgb grey font ',13'", text, x, y)

# ---- Llama: the norms are in the branches.
s = 9; m = 33
set label "Llama" at 32, 101.5 center font ",18"
set object 801 rectangle from 0.7, 15 to 64, 84.5 behind fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "one layer: here there are 4, in Llama 3 8B 32" at 62.8, 16.6 right textcolor rgb grey font ",12"
set label "token ids [29]" at s, 2 center font ",13"
eval go(s, 3.6, s, 6)
eval box(s, 8, 15, "embedding", "")
eval flow(s, 10, 52.8)
eval flow(s, 56.2, 79.3)
eval flow(s, 82.7, 87.2)
set label "[29, 192]" at s + 1.2, 12.6 left textcolor rgb "#a66f00" font ",12"
set label "residual stream: blocks only add to it" at s + 2, 56.2 left textcolor rgb "#a66f00" font ",13"

eval line(s, 18, m, 18); eval go(m, 18, m, 19.9)
eval box(m, 21.8, 22, "RMSNorm", blue)
array at[3] = [m - 12, m, m + 12]
array weight[3] = ["W_q", "W_k", "W_v"]
eval line(at[1], 25.3, at[3], 25.3); eval line(m, 23.6, m, 25.3)
do for [i = 1:3] { eval go(at[i], 25.3, at[i], 26.9); eval box(at[i], 28.7, 8, weight[i], "") }
eval go(at[1], 30.5, at[1], 33.1); eval name(at[1] + 0.7, 31.8, "q")
eval go(at[2], 30.5, at[2], 33.1); eval name(at[2] + 0.7, 31.8, "k")
eval box(m - 6, 35, 20, "RoPE", blue)
eval go(at[2], 36.8, at[2], 39.4); eval go(at[3], 30.5, at[3], 39.4); eval name(at[3] + 0.7, 31.8, "v")
eval box(m + 6, 41.2, 20, "KV cache", blue)
eval go(at[1], 36.8, at[1], 45.6); eval go(at[2], 43, at[2], 45.6); eval go(at[3], 43, at[3], 45.6)
eval name(at[2] + 0.7, 44.3, "all k so far"); eval name(at[3] + 0.7, 44.3, "all v")
eval box(m, 47.4, 32, "grouped-query attention", blue)
eval go(m, 49.2, m, 50.3)
eval box(m, 52.1, 8, "W_o", "")
eval line(m, 53.9, m, 54.5); eval go(m, 54.5, s + 1.5, 54.5); eval plus(s, 54.5)
eval shape(21.8, "[29, 192]")
eval shape(29.8, "q [29, 6, 32]"); eval shape(27.6, "k, v [29, 2, 32]")
eval shape(47.4, "[29, 6, 32]")
eval shape(52.1, "[29, 192]")

eval line(s, 58, m, 58); eval go(m, 58, m, 59.4)
eval box(m, 61.2, 22, "RMSNorm", blue)
eval line(m - 8, 64.5, m + 8, 64.5); eval line(m, 63, m, 64.5)
eval go(m - 8, 64.5, m - 8, 66); eval box(m - 8, 67.8, 11, "W_{gate}", "")
eval go(m + 8, 64.5, m + 8, 66); eval box(m + 8, 67.8, 11, "W_{up}", "")
eval go(m - 8, 69.6, m - 8, 71.7); eval go(m + 8, 69.6, m + 8, 71.7)
eval box(m, 73.5, 27, "silu(gate) · up", blue)
eval go(m, 75.3, m, 76.5)
eval box(m, 78.3, 11, "W_{down}", "")
eval line(m, 80.1, m, 81); eval go(m, 81, s + 1.5, 81); eval plus(s, 81)
eval shape(61.2, "[29, 192]"); eval shape(67.8, "[29, 512] each"); eval shape(73.5, "[29, 512]"); eval shape(78.3, "[29, 192]")

eval box(s, 89, 15, "RMSNorm", blue)
eval go(s, 90.8, s, 92.4)
eval box(s, 94.2, 15, "W_{out}", "")
eval go(s, 96, s, 97.8)
set label "logits" at s, 99 center font ",13"
set label "of the last token: [1024]" at s + 8.5, 94.2 left textcolor rgb grey font ",12"

# ---- 2017: the norms are on the stream, which is grey here, because it is not only added to.
flow(x, y, to_y) = sprintf("set arrow from %g,%g to %g,%g linewidth 4 linecolor rgb '#b0b0b0' size 1.4,25 filled", x, y, x, to_y)
plus(x, y) = sprintf( \
    "n = n + 1; set object n circle at %g,%g size 1.3 front fillcolor rgb '#ffffff' fillstyle solid border linecolor rgb '#b0b0b0' linewidth 2; set label '+' at %g,%g center front font ',16'", x, y, x, y)
s = 74; m = 90
set label "Transformer, 2017 (its decoder)" at 83, 101.5 center font ",16"
set object 800 rectangle from 66, 15 to 99.5, 88 behind fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "6 layers" at 98.5, 86.2 right textcolor rgb grey font ",12"
set label "token ids" at s, 2 center font ",13"
eval go(s, 3.6, s, 6)
eval box(s, 8, 15, "embedding", "")
eval flow(s, 10, 90.5)
eval plus(s, 12.4); set label "sine and cosine" at s + 2.2, 12.4 left textcolor rgb vermillion font ",12"
array parts[3] = ["attention", "cross-attention", "linear, ReLU, linear"]
do for [i = 0:2] {
    y = 19 + 23 * i
    eval line(s, y, m, y); eval go(m, y, m, y + 4.1)
    eval box(m, y + 6, 18, parts[i + 1], vermillion)
    eval line(m, y + 7.8, m, y + 12); eval go(m, y + 12, s + 1.5, y + 12); eval plus(s, y + 12)
    eval box(s, y + 17, 14, "LayerNorm", vermillion)
}
set label "(q, k, v, W_{o})" at m + 0.7, 28.8 left textcolor rgb grey font ",11"
eval box(s, 92.5, 15, "linear", "")
eval go(s, 94.3, s, 97.8)
set label "logits" at s, 99 center font ",13"
plot NaN
