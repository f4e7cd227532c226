# Generation on the sentence: prefill, then decode steps. What goes through the decoder, what the KV cache holds, what is chosen.
height = 490
load "figures/style.gp"
eval sheet("Prefill processes the prompt at once; each decode step processes one token")

# A row at y: positions first .. last go through the decoder, the cache then holds 0 .. last.
cell = 9.2
left = 138
tile(x, y, fill, edge) = sprintf("n = n + 1; set object n rectangle from %g,%g to %g,%g front fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 0.8", \
    x, y, x + cell - 1.6, y + 20, fill, edge)
array step[4] = ["prefill", "decode", "decode", "decode"]
array what[4] = ["the 29 tokens of the prompt", "Anna", "has", "the"]
array chosen[4] = ["Anna", "has", "the", "red"]
array first[4] = [0, 29, 30, 31]
array last[4] = [28, 29, 30, 31]
do for [r = 1:4] {
    y = 474 - 100 * r
    set label step[r] at 16, y + 12 left front font ",16"
    set label sprintf("%s", r == 1 ? "1 call" : sprintf("step %d", r - 1)) at 16, y - 8 left front font ",13" textcolor rgb grey
    do for [p = 0:35] {
        eval tile(left + p * cell, y, p > last[r] ? "#ffffff" : p >= first[r] ? blue : "#bcd9ec", p > last[r] ? faint : p >= first[r] ? blue : "#bcd9ec")
    }
    set label what[r] at left + (r == 1 ? 14.5 : first[r] + 0.5) * cell, y + 34 center front font ",14" textcolor rgb blue
    set label sprintf("position%s", r == 1 ? "s 0 to 28" : sprintf(" %d", last[r])) at left + (r == 1 ? 14.5 : first[r] + 0.5) * cell, y - 12 center front font ",13" textcolor rgb grey
    eval go(left + 36 * cell + 6, y + 10, 540, y + 10, grey)
    set label "1024 logits" at 546, y + 12 left front font ",15"
    eval go(642, y + 10, 704, y + 10, grey)
    set label "choose" at 672, y + 24 center front font ",13" textcolor rgb vermillion
    n = n + 1
    set object n rectangle from 710, y - 6 to 790, y + 27 front fillcolor rgb vermillion fillstyle solid noborder
    set label chosen[r] at 750, y + 11 center front font ",16" textcolor rgb "#ffffff"
    if (r < 4) {
        set arrow from 750, y - 6 to 750, y - 46 nohead linecolor rgb grey linewidth 1.5 front
        set arrow from 750, y - 46 to left + (last[r] + 1.5) * cell + 48, y - 46 nohead linecolor rgb grey linewidth 1.5 front
        set arrow from left + (last[r] + 1.5) * cell + 48, y - 46 to left + (last[r] + 1.5) * cell + 24, y - 64 linecolor rgb grey linewidth 1.5 size screen 0.01, 25 filled front
    }
}
eval tile(140, 8, blue, blue)
set label "goes through the decoder" at 156, 17 left front font ",14"
eval tile(370, 8, "#bcd9ec", "#bcd9ec")
set label "keys and values are in the KV cache already" at 386, 17 left front font ",14"
plot NaN
