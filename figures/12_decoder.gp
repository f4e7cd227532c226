# Tokens per second of a whole model with the kernels of chapter 9 and with those of this chapter, beside the machine's limits.
# The run: a random Llama of 1.1 billion weights in BF16, one thread of an AMD EPYC (Zen 3, AVX2), 28 November 2026, a busy machine;
# processor time, the best of several runs. The limits are the bandwidth over the bytes of the weights that a token needs, and the
# FMA peak over the operations of a prompt's token.
height = 400
load "figures/style.gp"

# chapter 9's kernels, this chapter's, the limit
array decode[3] = [1.5, 7.2, 10.1]
array prefill[3] = [3.8, 33.0, 50.0]
set multiplot layout 1, 2 margins 0.16, 0.95, 0.12, 0.76 spacing 0.08, 0 \
    title "Tokens per second of a 1.1B Llama on one core, before and after" font ",18"
set style fill solid
set yrange [-0.6:1.7]
unset grid
set grid xtics linecolor rgb faint linewidth 0.7
unset key
do for [panel = 1:2] {
    before = panel == 1 ? decode[1] : prefill[1]
    after = panel == 1 ? decode[2] : prefill[2]
    limit = panel == 1 ? decode[3] : prefill[3]
    set xrange [0:1.12 * limit]
    if (panel == 1) { set ytics ("chapter 9" 1, "this chapter" 0) } else { set ytics ("" 0) }
    set label 1 (panel == 1 ? "decode, after 64 tokens" : "prefill of 128 tokens") at graph 0, 1.12 textcolor rgb black
    set label 2 (panel == 1 ? "bandwidth" : "FMA peak") at limit, 1.55 right offset -0.6, 0 textcolor rgb grey
    set arrow 1 from limit, -0.6 to limit, 1.7 nohead linecolor rgb grey linewidth 2 dashtype 2
    plot "+" every ::0::0 using (before / 2):(1):(before / 2):(0.28) with boxxyerror linecolor rgb "#b0b0b0", \
         "+" every ::0::0 using (after / 2):(0):(after / 2):(0.28) with boxxyerror linecolor rgb blue, \
         "+" every ::0::0 using (before):(1):(sprintf("%g", before)) with labels left offset 0.8, 0 textcolor rgb black, \
         "+" every ::0::0 using (after):(0):(sprintf("%g", after)) with labels right offset -0.8, 0 textcolor rgb "#ffffff"
}
unset multiplot
