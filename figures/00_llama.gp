# The map of the course: where each chapter's component sits in a Llama.
figure = "00_llama"; height = 420
load "figures/style.gp"
eval sheet("A Llama, and the chapter that teaches each part")
set xrange [0:100]; set yrange [0:48.3]

# box(x, y, width): a component; its name above, its chapter below. Filled: a chapter teaches it.
n = 0
box(x, y, w, fill, text, chapter) = sprintf( \
    "n = n + 1; set object n rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',14'; set label '%s' at %g,%g center front textcolor rgb '%s' font ',12'", \
    x, y, x + w, y + 7, fill ? blue : "#ffffff", fill ? blue : grey, text, x + w / 2., y + 4.6, fill ? "#ffffff" : black, chapter, x + w / 2., y + 1.8, fill ? "#ffffff" : grey)

# The residual stream, and the two branches that hang from it.
set arrow from 9, 36 to 10.1, 36 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 20.9, 36 to 79, 36 nohead linewidth 4 linecolor rgb orange
set arrow from 89, 36 to 90.3, 36 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set object 900 rectangle from 22.5, 1 to 77.3, 42.5 fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "one layer, repeated L times" at 76.5, 3.4 right textcolor rgb grey font ",13"
set label "the residual stream: C numbers per token" at 50, 38.6 center textcolor rgb "#a66f00" font ",14"
do for [i = 0:1] {
    left = i ? 64.5 : 28.5; right = i ? 75.5 : 56.1
    set arrow from left, 36 to left, 31.2 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    set arrow from left, 24 to left, 20.2 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    set arrow from right, (i ? 16.5 : 20) to right, 34.7 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    set object 910 + i circle at right, 36 size 1.1 fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb orange linewidth 2
    set label "+" at right, 36 center front font ",16"
}
eval box(23.8, 24, 10, 1, "RMSNorm", "chapter 1")
eval box(23.8, 13, 7.6, 0, "W_q, W_k", "linear")
eval box(23.8, 3, 7.6, 0, "W_v", "linear")
eval box(33.4, 13, 8.4, 1, "RoPE", "chapter 5")
eval box(33.4, 3, 8.4, 1, "KV cache", "chapter 7")
eval box(43.8, 13, 8.4, 1, "attention", "4, 6, 8")
eval box(53.8, 13, 4.6, 0, "W_o", "linear")
set arrow from 24.6, 24 to 24.6, 22 nohead linewidth 1.5 linecolor rgb grey
set arrow from 24.6, 22 to 23.1, 22 nohead linewidth 1.5 linecolor rgb grey
set arrow from 23.1, 22 to 23.1, 6.5 nohead linewidth 1.5 linecolor rgb grey
set arrow from 23.1, 6.5 to 23.8, 6.5 nohead linewidth 1.5 linecolor rgb grey
set arrow from 31.4, 16.5 to 33.2, 16.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 31.4, 6.5 to 33.2, 6.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 37.6, 13 to 37.6, 10.2 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set label "k" at 38.2, 11.6 left textcolor rgb grey font ",13"
set arrow from 41.8, 16.5 to 43.6, 16.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set label "q" at 42.5, 18 center textcolor rgb grey font ",13"
set arrow from 41.8, 6.5 to 48, 6.5 nohead linewidth 1.5 linecolor rgb grey
set arrow from 48, 6.5 to 48, 12.8 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set label "all k and v" at 48.6, 8 left textcolor rgb grey font ",13"
set arrow from 52.2, 16.5 to 53.6, 16.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
eval box(59.5, 24, 10, 1, "RMSNorm", "chapter 1")
eval box(59.5, 13, 13, 1, "feed-forward", "chapters 2, 3")
set arrow from 72.5, 16.5 to 75.5, 16.5 nohead linewidth 1.5 linecolor rgb grey

eval box(0.5, 32.5, 8.5, 1, "tokens", "chapter 10")
eval box(10.3, 32.5, 10.6, 0, "embedding", "a table")
eval box(79, 32.5, 10, 1, "RMSNorm", "chapter 1")
eval box(90.5, 32.5, 9, 1, "logits", "chapter 9")
set arrow from 95, 32.5 to 95, 26.4 linewidth 1.5 linecolor rgb grey size 1, 25 filled
eval box(87.2, 19, 12.3, 1, "next token", "chapter 11")
plot NaN
