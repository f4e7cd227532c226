/* Written by tests/golden/unicode_data.py, which asked tiktoken 0.14.0 and tokenizers 0.23.3. */
#include "14_engine/tokenizers/unicode_classes.h"

const UnicodeClass unicode_classes[] = {
    {'a', "C", 0}, {'b', "C", BLANK}, {'c', "Zs", BLANK}, {'d', "P", PUNCTUATION},
    {'e', "S", PUNCTUATION}, {'f', "Nd", WORD | RUST_WORD | DIGIT}, {'g', "Lu", WORD | RUST_WORD},
    {'h', "P", WORD | RUST_WORD | PUNCTUATION}, {'i', "Ll", WORD | RUST_WORD}, {'j', "S", 0},
    {'k', "Lo", WORD | RUST_WORD}, {'l', "No", ONLY_WORD | DIGIT},
    {'m', "Ll", WORD | RUST_WORD | CASE_OF_S}, {'n', "Lt", WORD | RUST_WORD},
    {'o', "Lm", WORD | RUST_WORD}, {'p', "Mn", WORD | RUST_WORD}, {'q', "C", NEWER},
    {'r', "Me", WORD | RUST_WORD}, {'s', "Ll", WORD | RUST_WORD | NEWER},
    {'t', "Lo", WORD | RUST_WORD | NEWER}, {'u', "P", NEWER}, {'v', "Mn", WORD | RUST_WORD | NEWER},
    {'w', "S", NEWER}, {'x', "Lm", WORD | RUST_WORD | NEWER}, {'y', "Mc", WORD | RUST_WORD},
    {'z', "No", DIGIT}, {'A', "Mc", WORD | RUST_WORD | NEWER},
    {'B', "Nl", WORD | RUST_WORD | DIGIT}, {'C', "Lu", WORD | RUST_WORD | NEWER},
    {'D', "C", RUST_WORD}, {'E', "Z", BLANK}, {'F', "Lu", WORD | RUST_WORD | CASE_OF_K},
    {'G', "S", WORD | RUST_WORD}, {'H', "P", 0}, {'I', "S", HAN},
    {'J', "Lm", HAN | WORD | RUST_WORD}, {'K', "Nl", HAN | WORD | RUST_WORD | DIGIT},
    {'L', "Lo", HAN | WORD | RUST_WORD}, {'M', "Lo", HAN | WORD | RUST_WORD | NEWER},
    {'N', "No", DIGIT | NEWER}, {'O', "Nd", WORD | RUST_WORD | DIGIT | NEWER},
    {'P', "Mn", WORD | RUST_WORD | PUNCTUATION}, {'Q', "C", DIGIT | NEWER}, {'R', "P", HAN | NEWER},
    {'S', "Lm", HAN | WORD | RUST_WORD | NEWER}, {'T', "Mc", HAN | WORD | RUST_WORD | NEWER},
};

const int unicode_class_count = sizeof unicode_classes / sizeof *unicode_classes;

/* The classes of all code points from 0 on: a letter, and how many have it if that is more than one. */
const char unicode_class_runs[] =
    "a9b5a18cd3ed6ed4f10d2e3d2g26d3ehei26dedea6ba26cdj5dj2kdjaj4l2jid2jlkdl3dg23jg7i24ji8gigigigigi"
    "gigigigigigigigigigigigigigigigigigigigigigigi2gigigigigigigigi2gigigigigigigigigigigigigigigi"
    "gigigigigigigigig2igigimig2igig2ig3i2g4ig2ig3i3g2ig2igigig2igi2gig2ig3igig2i2kgi3k4gnignignigi"
    "gigigigigigigi2gigigigigigigigigi2gnigig3igigigigigigigigigigigigigigigigigigigigigigigigigigi"
    "gigigi7g2ig2i2gig4igigigigi69ki27o18j4o12j14o5j7ojoj17p112gigiojgiq2oi3dgq4j2gdg3qgqg2ig17qg9i"
    "35gi2g3i3gigigigigigigigigigigigi5gijgig2i2g51i48gigigigigigigigigigigigigigigigigijp5r2gigigi"
    "gigigigigigigigigigigigigigigigigigigigigigigigig2igigigigigigi2gigigigigigigigigigigigigigigi"
    "gigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigiqg38q2od6si39sd2q2j3qp45dpdp"
    "2dp2dpq8k27q4tk3d2q11a6j3d2jd2j2p11daud2k32ok10p21f10d4k2pk99dkp7ajp6o2p2jp4k2f10k3j2kd14qakpk"
    "30p27q2k89p11kq14f10k33p9o2jd3oq2vw2k22p4op9op3op5q2d15qk25p3q2dqt11q5t24wt6q8v9k21tk8t11xv10p"
    "14ap32yk54pypky3p8y4py2kp7k10p2d2f10dok15py2qk8q2k2q2k22qk7qkq3k4q2pky3p4q2y2q2y2pkq8yq4k2qk3p"
    "2q2f10k2j2z6j2tuvq2p2yqk6q4k2q2k22qk7qk2qk2qk2q2pqy3p2q4p2q2p3q3pq7k4qkq7f10p2k3puq10p2yqk9qk3"
    "qk22qk7qk2qk5q2pky3p5qp2yqy2pq2kq15k2p2q2f10djq7kv6qpy2qk8q2k2q2k22qk7qk2qk5q2pkypyp4q2y2q2y2p"
    "q7vpyq4k2qk3p2q2f10jkz6q10pkqk6q3k3qk4q3k2qkqk2q3k2q3k3q3k12q4y2py2q3y3qy3pq2kq6yq14f10z3j8q5p"
    "y3vk8qk3qk23qk16q2vkp3y4qp3qp4q7p2qk3q2tq2k2p2q2f10q7uz7jkpy2uk8qk3qk23qk10qk5q2pkypy5qpy2qy2p"
    "2q7y2q6tkqk2p2q2f10qk2Aq12vpy2tk8qk3qk41v2ky3p4qy3qy3pkjq4k3yz7k3p2q2f10z9jk6qvy2qk18q3k24qk9q"
    "kq2k7q3pq4y3p3qpqy8q6f10q2y2dq12k48pk2p7q4jk6op8df10d2q37k2qkqtk2tkqtkt6k4tk7tk3qkqkt2k2tk4pk2"
    "p6vp2kq2k5qoqp6vqf10q2k4q32kj3d15jdj3p2j6f10z10jpjpjpd4y2k8qk36q4p14yp5dp2k5p11qp36qj8pj6qj2d5"
    "j4d2q37k43y2p4yp6yp2y2p2kf10d6k6y2p2k4p3ky3k2y7k3p4k13py2p2y6pkyf10y3pj2g38qgq5gq2i43doi3k329q"
    "k4q2k7qkqk4q2k41qk4q2k33qk4q2k7qkqk4q2k15qk57qk4q2k67q2p3d9z20q3k16j10q6g86q2i6q2dk620edk17ck2"
    "6d2q3k75d3B3k8q7k13tk4p3Aq9tk18p2yd2q9k18p2q12k13qk3qp2q12k52p2yp7y8py2p11d3od3jkpq2f10q6z10q6"
    "d11p3avf10q6k35ok52tq7k5p2k34pkq5k70q10k31qp3y4p2y3q4y2py6p3q4jq3d2f10k30q2k5q11k44q4k26q6f10z"
    "q3j34k23p2y2pq2d2k53ypyp7qpypy2p8y6p10q2pf10q6f10q6d7od6q2p14rv16q49p4yk47pyp5ypy5py2k7tqu2f10"
    "d7j10p9j9u3p2yk30yp4y2p2yp3k2f10k44pyp2y3pyp3y2q8d4k36y8p8y2p2q3d5f10q3k3f10k30o6d2i9Csq5C43q2"
    "C3d8q8p3dp13yp7k4pk4t2pk2Ap2tq5i44o63i13oi34o37p54v5p5gigigigigigigigigigigigigigigigigigigigi"
    "gigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigi"
    "gigigigigigigigi9gigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigig"
    "igigigigigigigigigigi9g8i6q2g6q2i8g8i8g8i6q2g6q2i8qgqgqgqgi8g8i14q2i8n8i8n8i8n8i5qi2g4njij3i3q"
    "i2g4nj3i4q2i2g4qj3i8g5j3q2i3qi2g4nj2qc11aD2a2d24E2a5cd15h2d3jd13jdhd10ca5qa10zoq2z6j3d2oz10j3d"
    "2qo13q3j31w2q15p13r4pr3p12q15j2gj4gj2ig3i2g3ijgj3g5j6gjgjgjFg3jig4ik4ij2i2g2j5gi4j4ijz16B35giB"
    "4zj2q4j376d4j29d2j212wj39w3q22j11q21z60j26G52z22j616d14z30j49d2j31d10j403d22j63d4j32d2j374q2j3"
    "2qwj34w3j12wj8w26j4w16g47Ci47sgig3i2gigigig4igi2gi6o2g3igigigigigigigigigigigigigigigigigigigi"
    "gigigigigigigigigigigigigigigigigigigigigigigigigigigigigigi2j6gigip3giq5d4zd2i38qiq5iq2k56q7o"
    "dq14pk23q9k7qk7qk7qk7qk7qk7qk7qk7qp32d47od19H2u11w2u12q34I26qI89q12I214q26j12w4cd3jJkKd10j2d12"
    "jK9p4y2do5j2K3Jkdj2qk86q2p2j2o2kdk90do3kq5k41t2qk94qj2z4j10k27t5j36w2q9wk16j31qz10j30z8jz15j32"
    "z10j39z15j63wj256L6582M10j64L20950M42k21ok1143q3j55q9k40o6d2k268od3k16f10k2q20gigigigigigigigi"
    "gigigigigigigigigigigigigigigikpr3dp10dogigigigigigigigigigigigigigio2p2k70B10p2d6q8j23o9j2gig"
    "igigigigigi3gigigigigigigigigigigigigigigigigigigigigigigigigigigigigigigioi8gigig2igigigigioj"
    "2gigikgigi3gigigigigigigigigigig5sg5igiCsCsCsCsCsCsC4sCsC2sq2CsqsqsCsCsCsCq21x3Csko2ik7pk3pk4p"
    "k23y2p2yj4vq3z6j4q6k52d4q8y2k50y16p2q8d2f10q6p18k6d3kdktvf10k28p8d2k23p11y2q11dk29q3p3yk47py2p"
    "4y2p2y3d13qof10q4d2k5pok9f10k5qk41p6y2p2y2p2q9k3pk8pyq2f10q2d4k16ok6j3kypyk50pkp3k2p2k5p2kpkq2"
    "4k2od2k11yp2y2d2ko2ypq10k6q2k6q2k6q9k7qk7qi43jo4i6s3xw2q4i80k35y2py2py2dypq2f10q6k11172q12k23q"
    "4k49q2052a6400L366q2L106q38i7q12i5q5kpk10jk13qk5qkqk2qk2qk108j16wq16k363d2w16k64q2k54q7wa32k12"
    "j2w2p16d10q6p16d3h2d24h3d3qd14jdj3qdjd2q4k5qk135q2aqd3jd6jd4f10d2j3d2g26d3jhji26djdjd7k10ok45o"
    "2k31q3k6q2k6q2k6q2k3q3j7qj7q10a3j2a2k12qk26qk19qk2qk15q2k14q34k123q5d3q4z45q3j9B53z4j17z2j3qj1"
    "2wq3jq47j45pq130k29q3k49q15pz27q4k32z4q9t3k17Bk8Bq5k38p5q5k30qdk36q4k8dB5q42g40i40k78q2f10q6g3"
    "6q4i36q4k40q8k52q11dC11qC15qC7qC2qs11qs15qs7qs2q3t52q12k311q9k22q10k8q24x6qx42qx9q69k6q2kqk44q"
    "k2q3kq2k23qdz8k23j2z7k31q8z9q48k19qk2q5z5k22z6q3dk26q5dq64k56q4z2k2z16q2z46kp3qp2q5p4k4qk3qk27"
    "t2q2p3q4pz8Nq7d9q7k29z2dk29z3q32k8jk28p2q4z5d7q9k54q3d7k22q2z8k19q5z8k18q7d4q12z7q80k73q55g51q"
    "13i51q7z6t36v4q8O10q6O10t4xtC22q3v5uxs22q8w2q208z31qt42qv2uq2t2q16t3q55v4t29N10tq8t22v11N4u5q2"
    "2t18v4u4q38t21N7q20t23q9ypyk53p15d7q4z20f10vt2v2tq9p3yk45y3p4y2p2d2ad4vq13k25q7f10q6p3k36p5yp8"
    "qf10d4tA2tq8k35pd2kq9p2yk48y3p9y2k4d4Pp3dAvf10kdkd3qz20q11k18qk25y3p3y2pyp2d6pt2vq62k7qkqk4qk1"
    "5qk10dq6k47py3p8q5f10q6p2y2qk8q2k2q2k22qk7qk2qk5qvpky2py4q2y2q2y3q2kq6yq5k5y2q2p7q3p5q11t10qtq"
    "2tqt38qtA3v6qAq2AqA4qA2vAvtvtu2qu2q8v2q29k53y3p8y2p3ypk4H5f10uHqHvt3q30k48y3p6ypy4p2yp2k2dkq8f"
    "10q166k47y3p4q2y4p2yp2d23k4p2q34k48y3p8y2pyp2d3kq11f10q6H13q19k43pypy2p6yptuq6f10q6O20q28k26tq"
    "2pypy2p4yp5q4f10z2d3jt7q185t44A3v9Av2uq100g32i32f10z9q12kt7q2tq2t8qt2qt24A6qA2q2v2AvtAtAvu3q9O"
    "10q70t8q2t39A3v4q2v2A4vtutAq27tv10t40v6Atv4u8vq8tv6A2v3t46v13Av2u3tu5q13t16k57q7u10q182t33uq14"
    "O10q6k9qk37yp7qp6ypkH5q10f10z19q3H2k30q2p22qyp7yp2yp2q73t7qt2qt38v6q3vqv2qv7tvq8O10q6t6qt2qt32"
    "A5qv2qA2vAvtq7O10q54Q10q246t19v2A2u2q7v2tAt13qt34A2v5q3A2vAvu13O10vq85tq15N21w29q13uk922q102B1"
    "11qd5q11k196q2636t97u2q13k1071tq16vt6v15q10t3995q5k583q6841t30v12A3v3O10q1734k569q7k31qf10q4d2"
    "t79qO10q6k30q2p5dq10k48p7d5j4o4djq10f10qz7qk21q5k19q432x3t40x2u3O10q198C32s32N23u4q101k69t6q4v"
    "ky46A9q7p4o13q64oxRSvq11T2q2Q3q9k6125t11q8k755t483q41t10q8935x4qx7qx2qk2t289q15tq29t3q2tq14t4q"
    "8t396q2308k107q5k13q3k9q7k10q2jp2da4q3932w240O10q6w436q76v46q2v23q9w116q60j246q10j39q2j60y2p3j"
    "3y6a8p8j2p7j30p4j59w2q21j66p3jq122N20q12N20q12j87q9z18N7q135g26i26g26i7qi18g26i26gqg2q2gq2g2q2"
    "g4qg8i4qiqi7qi11g26i26g2qg4q2g8qg7qi26g2qg4qg5qgq3g7qi26g26i26g26i26g26i26g26i26g26i26g26i28q2"
    "g25ji25ji6g25ji25ji6g25ji25ji6g25ji25ji6g25ji25ji6giq2f50j512p55j4p50j8pj14pj2d5q15p5qp15q1104"
    "s10ts20q6s6q213p7qp17q2p7qp2qp5q5x62q33vq112t45q3v7x7q2O10q4twq320t30vq17t44v4O10q5wq464t27xv4"
    "O10q214t30v2tO10q4uq480t7qt4qt2qt15qk197q2z9p7q41g34i34p7xq4f10q4H2q785N59wN3wN4q76N45wN15q194"
    "k4qk27qk2qkq2kqk10qk4qkqkq6kq4kqkqkqk3qk2qkq2kqkqkqkqkqk2qkq2k4qk7qk4qk4qkqk10qk17q5k3qk5qk17q"
    "52j2q270j44q4j100q12j15q2j15qj15qj37q10z13w3j31wG26j6G26j2w4G26j35wq56j29q13j44q4j9q7j2q14w6q1"
    "54j979w5q4w4j13q3j7w6q3j116w3q4w5j85w5q6w12q4wq15j12q4j56q8j10q6j40q8j30q2w12q4w2q62w16j15wj8w"
    "8jw2j12wj12w4j15w33j18w46jw147q12w14q2w13q3w10q5w56q7w15q2w11q6w9q7w147qw92O10q1028a2L42711M9q"
    "32L4149M5q6L222q2L5762q14M7473q15M622q2466L542q1504a2M4939q5M4192q56398a2q65534a2q65534a2q6553"
    "4a2q65534a2q65534a2q65534a2q65534a2q65534a2q65534a2q65534a2qaq30a96q128p240q65038a131074";

const NewerCase newer_cases[] = {
    {0x1c89, 0x1c89, 1}, {0x1c90, 0x1cba, -3008}, {0x1cbd, 0x1cbf, -3008}, {0x2c2f, 0x2c2f, 48},
    {0xa7b8, 0xa7b8, 1}, {0xa7ba, 0xa7ba, 1}, {0xa7bc, 0xa7bc, 1}, {0xa7be, 0xa7be, 1},
    {0xa7c0, 0xa7c0, 1}, {0xa7c2, 0xa7c2, 1}, {0xa7c4, 0xa7c4, -48}, {0xa7c5, 0xa7c5, -42307},
    {0xa7c6, 0xa7c6, -35384}, {0xa7c7, 0xa7c7, 1}, {0xa7c9, 0xa7c9, 1}, {0xa7cb, 0xa7cb, -42343},
    {0xa7cc, 0xa7cc, 1}, {0xa7ce, 0xa7ce, 1}, {0xa7d0, 0xa7d0, 1}, {0xa7d2, 0xa7d2, 1},
    {0xa7d4, 0xa7d4, 1}, {0xa7d6, 0xa7d6, 1}, {0xa7d8, 0xa7d8, 1}, {0xa7da, 0xa7da, 1},
    {0xa7dc, 0xa7dc, -42561}, {0xa7f5, 0xa7f5, 1}, {0x10570, 0x1057a, 39}, {0x1057c, 0x1058a, 39},
    {0x1058c, 0x10592, 39}, {0x10594, 0x10595, 39}, {0x10d50, 0x10d65, 32}, {0x16e40, 0x16e5f, 32},
    {0x16ea0, 0x16eb8, 27},
};

const int newer_case_count = sizeof newer_cases / sizeof *newer_cases;
