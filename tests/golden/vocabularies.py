"""vocabularies.txt: what Llama 2's and Llama 3's own vocabularies make of a text. Chapter 10 quotes it and draws from it.

    python tests/golden/vocabularies.py            writes vocabularies.txt anew
    python tests/golden/vocabularies.py --check    computes it anew and compares it with what is committed

The two files are Meta's and no part of this repository: where LLAMA_DATA or ../shared/data does not have them, nothing is
done, and it says so.
"""
import importlib
import sys

from articles import table
from golden import HERE
import sentencepiece

tokenizers = importlib.import_module("10_tokenizer")
FILE = HERE / "vocabularies.txt"
STORIES = HERE.parents[1] / "common" / "stories" / "model" / "tokenizer.model"
SENTENCE = "Mia gave the red ball to Anna. Mia sang a song.\nQuestion: Who has the red ball?\nAnswer:"

# One story, told nine times.
LANGUAGES = {
    "English": "Mia gave the red ball to Anna. Then she went home, for it was late, and the moon stood over the river. The next "
               "morning the two met at the market and laughed about it.",
    "German": "Mia gab Anna den roten Ball. Dann ging sie nach Hause, denn es war spät, und der Mond stand über dem Fluss. Am "
              "nächsten Morgen trafen sich die beiden auf dem Markt und lachten darüber.",
    "French": "Mia donna le ballon rouge à Anna. Puis elle rentra chez elle, car il était tard, et la lune brillait au-dessus de la "
              "rivière. Le lendemain matin, les deux se retrouvèrent au marché et en rirent.",
    "Russian": "Мия дала Анне красный мяч. Потом она пошла домой, потому что было поздно и над рекой стояла луна. На следующее "
               "утро они встретились на рынке и посмеялись над этим.",
    "Arabic": "أعطت ميا الكرة الحمراء لآنا. ثم عادت إلى البيت لأن الوقت كان متأخرا، وكان القمر فوق النهر. وفي الصباح التالي التقت "
              "الاثنتان في السوق وضحكتا من ذلك.",
    "Hindi": "मिया ने लाल गेंद अन्ना को दी। फिर वह घर चली गई, क्योंकि देर हो चुकी थी और चाँद नदी के ऊपर था। अगली सुबह दोनों बाज़ार में मिलीं और इस "
             "बात पर हँसीं।",
    "Chinese": "米娅把红球给了安娜。然后她回家了，因为天色已晚，月亮挂在河上。第二天早上，两人在市场相遇，为这件事笑了起来。",
    "Japanese": "ミアは赤いボールをアンナにあげました。もう遅かったので家に帰りました。月が川の上に出ていました。次の日の朝、二人は市場で会い、"
                "そのことで笑いました。",
    "Korean": "미아는 안나에게 빨간 공을 주었다. 그리고 늦었기 때문에 집으로 갔고, 달은 강 위에 떠 있었다. 다음 날 아침 두 사람은 시장에서 "
              "만나 그 일로 웃었다.",
}
TEXTS = {"English prose": tokenizers.ENGLISH, "Chinese prose": tokenizers.CHINESE, "C and Python": tokenizers.CODE}
TRIED = ["Hello world", "1234567", "3.14159265358979", " " * 100, "a\n\nb", "今天天气很好", "😀", "    return 0;", "'The llama'",
         "don't", "<|eot_id|>"]


class Vocabulary:
    def __init__(self, name, library):
        self.name, self.library = name, library

    def ids(self, text):
        return self.library.encode(text.encode())

    def pieces(self, ids):
        """As chapter 10 shows them: ▁ for a space, \\n for a line's end, <0xF0> for what is no character."""
        if hasattr(self.library, "processor"):
            pieces = [self.library.processor.id_to_piece(id).encode() for id in ids]
        else:
            pieces = self.library.encoding.decode_tokens_bytes(ids)
        return " ".join(self.shown(piece) for piece in pieces)

    @staticmethod
    def shown(piece):
        if piece == b"<0x0A>":
            return "\\n"
        text = piece.decode(errors="surrogateescape").replace(" ", "▁").replace("\n", "\\n")
        return "".join(f"<0x{ord(c) - 0xdc00:02X}>" if 0xdc80 <= ord(c) <= 0xdcff else c for c in text)


def sizes(llamas):
    """How much of a text a token stands for."""
    yield ("text", "bytes", "characters", "words",
           *(f"{what}" for v in llamas for what in (f"{v.name}'s tokens", "bytes each", "characters each")))
    for name, text in TEXTS.items():
        size, length, words = len(text.encode()), len(text), len(text.split())
        counts = [len(v.ids(text)) for v in llamas]
        yield (name, str(size), str(length), str(words) if "prose" in name and text.isascii() else "",
               *(cell for n in counts for cell in (str(n), f"{size / n:.2f}", f"{length / n:.2f}")))


def story(llamas):
    yield ("language", "bytes", *(cell for v in llamas for cell in (f"{v.name}'s tokens", "bytes each")))
    for name, text in LANGUAGES.items():
        size, counts = len(text.encode()), [len(v.ids(text)) for v in llamas]
        yield (name, str(size), *(cell for n in counts for cell in (str(n), f"{size / n:.2f}")))


def lines(vocabularies, text):
    """A line for each vocabulary, which is no table: what it says is to be read, not compared."""
    for v in vocabularies:
        ids = v.ids(text)
        pieces = v.pieces(ids)
        yield f"  {v.name:12}  {len(ids):3}  {pieces if len(pieces) < 200 else '…'}"


def decoded(token):
    """Its text, or None where it is no UTF-8 by itself."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def chinese(token):
    return sum("\u4e00" <= c <= "\u9fff" for c in decoded(token) or "")


def facts(llama2, llama3):
    """What tokens there are; Llama 2's without those that only stand for a byte."""
    two, three = llama2.library.processor, llama3.library.encoding
    ids = range(two.get_piece_size())
    special = [id for id in ids if two.is_control(id) or two.is_unknown(id)]
    fallback = [id for id in ids if two.is_byte(id)]
    pieces = [two.id_to_piece(id).replace("▁", " ").encode() for id in ids if id not in special + fallback]
    tokens = three.token_byte_values()
    questions = {"a space, with or without more": lambda token: token[:1] == b" ", "digits alone": bytes.isdigit,
                 "with a Chinese character": lambda token: chinese(token) > 0,
                 "with two of them": lambda token: chinese(token) > 1,
                 "no UTF-8 by themselves": lambda token: decoded(token) is None}
    yield ("tokens", "Llama 2", "Llama 3")
    yield ("all", str(len(ids)), str(three.n_vocab))
    yield ("special ones", str(len(special)), str(three.n_vocab - len(tokens)))
    yield ("bytes to fall back on", str(len(fallback)), "0")
    for what, question in questions.items():
        yield (what, *(str(sum(map(question, every))) for every in (pieces, tokens)))
    yield ("bytes of the longest", *(str(max(map(len, every))) for every in (pieces, tokens)))


def page(llama2, llama3):
    stories, llamas = Vocabulary("the course's", tokenizers.SentencePiece(STORIES.read_bytes())), [llama2, llama3]
    yield from table("Prose and code", *sizes(llamas))
    yield from table("One story", *story(llamas))
    yield from ["", "== The sentence", *lines([stories, *llamas], SENTENCE)]
    yield from ["", "== Texts"]
    for text in TRIED:
        yield f"{len(text)} spaces" if text.isspace() else '"' + text.replace("\n", "\\n") + '"'
        yield from lines(llamas, text)
    yield from table("Vocabularies", *facts(llama2, llama3))


if __name__ == "__main__":
    found = dict(tokenizers.third_party())
    if not found:
        print("skipped: vocabularies.txt: Llama 2's and Llama 3's own files are not here")
        sys.exit()
    now = "\n".join(page(Vocabulary("Llama 2", found["llama2"]), Vocabulary("Llama 3", found["llama3"]))).lstrip("\n") + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(now)
    elif FILE.read_text() != now:
        sys.exit(f"error: the libraries answer otherwise than {FILE} says: run vocabularies.py")
