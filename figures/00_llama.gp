# The map of the course: where each chapter's component sits in a Llama.
height = 400
load "figures/style.gp"
unset border; unset tics; unset key; unset grid
set xrange [0:100]; set yrange [0:46]; set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

# box(x, y, width): a component; its name above, its chapter below. Filled: it is here. Open: a later chapter.
n = 0
box(x, y, w, fill, text, chapter) = sprintf( \
    "n = n + 1; set object n rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'; set label '%s' at %g,%g center front textcolor rgb '%s' font ',12'", \
    x, y, x + w, y + 7, fill ? blue : "#ffffff", fill ? blue : grey, text, x + w / 2., y + 4.6, fill ? "#ffffff" : black, chapter, x + w / 2., y + 1.8, fill ? "#ffffff" : grey)

# The residual stream, and the two branches that hang from it.
set arrow from 10, 36 to 77.8, 36 nohead linewidth 4 linecolor rgb orange
set arrow from 88.8, 36 to 90.3, 36 nohead linewidth 4 linecolor rgb orange
set object 900 rectangle from 15.5, 1 to 76.6, 42.5 fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "one block, repeated L times" at 75.6, 3.4 right textcolor rgb grey font ",13"
set label "the residual stream: C numbers a token" at 46, 38.6 center textcolor rgb "#a66f00" font ",14"
do for [i = 0:1] {
    left = i ? 59.5 : 21; right = i ? 74.5 : 51.5
    set arrow from left, 36 to left, 31 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    set arrow from right, 15.5 to right, 34 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    set object 910 + i circle at right, 36 size 1.1 fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb orange linewidth 2
    set label "+" at right, 36 center front font ",16"
}
eval box(17.5, 24, 12, 1, "RMSNorm", "chapter 1")
eval box(17.5, 12, 7, 0, "q, k, v", "linear")
eval box(26.5, 12, 7, 1, "RoPE", "chapter 4")
eval box(35.5, 12, 12.5, 1, "attention", "chapters 5, 6, 8")
eval box(35.5, 2.2, 12.5, 1, "KV cache", "chapter 7")
set arrow from 21, 24 to 21, 19.4 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 24.5, 15.5 to 26.3, 15.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 33.5, 15.5 to 35.3, 15.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 48, 15.5 to 51.5, 15.5 nohead linewidth 1.5 linecolor rgb grey
set arrow from 41.75, 9.4 to 41.75, 11.8 heads linewidth 1.5 linecolor rgb grey size 0.8, 25 filled
eval box(55.5, 24, 12, 1, "RMSNorm", "chapter 1")
eval box(55.5, 12, 16.5, 1, "SwiGLU layer", "chapters 2, 3")
set arrow from 59.5, 24 to 59.5, 19.4 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 72, 15.5 to 74.5, 15.5 nohead linewidth 1.5 linecolor rgb grey

eval box(1, 32.5, 9, 1, "tokens", "chapter 10")
eval box(77.8, 32.5, 11, 1, "RMSNorm", "chapter 1")
eval box(90.3, 32.5, 9, 1, "logits", "chapter 9")
set arrow from 94.8, 32.5 to 94.8, 26.4 linewidth 1.5 linecolor rgb grey size 1, 25 filled
eval box(87, 19, 12.3, 1, "next token", "chapter 11")
plot NaN
