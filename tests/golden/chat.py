"""What transformers' apply_chat_template makes of conversations, with the templates of Llama 2, 3, 3.1 and 3.2.

    python tests/golden/chat.py            writes chat.json anew
    python tests/golden/chat.py --check    computes it anew and compares

The templates are ours, in our words: they say what the chat_template in tokenizer_config.json says of conversations
without tools. The sources, on huggingface.co/meta-llama:

    llama2      Llama-2-7b-chat-hf             the system's message is a part of the first user's; assistants' have spaces around
    llama3      Meta-Llama-3-8B-Instruct       a header for each message; no system's message if there is none
    llama3.1    Llama-3.1-8B-Instruct          always a system's message, with two dates; today is 26 Jul 2024 unless date_string
                (and Llama-3.3-70B-Instruct)   says otherwise
    llama3.2    Llama-3.2-1B-Instruct          the same, but today is strftime_now("%d %b %Y")
"""
import json
import sys
from datetime import datetime
from pathlib import Path

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

FILE = Path(__file__).resolve().parent / "chat.json"

LLAMA2 = """\
{%- set system = messages[0].content if messages[0].role == 'system' else none -%}
{%- for message in messages[0 if system is none else 1:] -%}
{%- if message.role == 'user' -%}
{%- set before = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' if loop.first and system is not none else '' -%}
{{- bos_token + '[INST] ' + (before + message.content) | trim + ' [/INST]' -}}
{%- else -%}{{- ' ' + message.content | trim + ' ' + eos_token -}}{%- endif -%}
{%- endfor -%}"""

MESSAGES = """\
{%- for message in messages -%}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{%- endif -%}"""
LLAMA3 = "{{- bos_token -}}" + MESSAGES


def dated(today):
    """The templates from Llama 3.1 on; `today`: what they say if nobody gives a date_string."""
    return """\
{{- bos_token + '<|start_header_id|>system<|end_header_id|>\\n\\n' -}}
{{- 'Cutting Knowledge Date: December 2023\\nToday Date: ' -}}
{{- (date_string if date_string is defined else """ + today + """) + '\\n\\n' -}}
{%- if messages[0].role == 'system' -%}{{- messages[0].content | trim -}}{%- set messages = messages[1:] -%}{%- endif -%}
{{- '<|eot_id|>' -}}""" + MESSAGES


FAMILIES = {"llama2": (LLAMA2, "<s>", "</s>"),
            "llama3": (LLAMA3, "<|begin_of_text|>", "<|eot_id|>"),
            "llama3.1": (dated("'26 Jul 2024'"), "<|begin_of_text|>", "<|eot_id|>"),
            "llama3.2": (dated("strftime_now('%d %b %Y')"), "<|begin_of_text|>", "<|eot_id|>")}

SPACE = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())

# A system's message or None, then user, assistant, user, …
CONVERSATIONS = [
    [None, "Hello!"],
    ["You are kind.\nAnswer briefly.", "Hello!"],
    ["", "Hello!"],
    ["  Be kind. \n", "\n  Who are you?  \n"],
    [SPACE + "Be kind." + SPACE, SPACE + "Who\u00a0are you?" + SPACE],
    ["\u200bBe kind.\ufeff", "\u200bHello!\u2060"],
    [None, "<s>[INST] <|eot_id|> </s>"],
    [None, "Hello!", "Hi.", "And you?"],
    ["You are kind.", " Hello! ", "Hi.", "Who?\n", "A fox.", "Where?"],
]
DATES = [None, "1 Mar 2025"]  # None: as the template has it


def rendered(family, system, said, date):
    template, bos, eos = FAMILIES[family]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), bos_token=bos, eos_token=eos)
    messages = [{"role": "system", "content": system}] if system is not None else []
    messages += [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
    return tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=True,
                                         **({"date_string": date} if date else {}))


def compute():
    """Today's date is no golden value: what stands there is <today>."""
    today = datetime.now().strftime("%d %b %Y")
    return [{"family": family, "date": date, "system": system, "said": said,
             "text": rendered(family, system, said, date).replace(f"Today Date: {today}\n", "Today Date: <today>\n")}
            for family in FAMILIES for system, *said in CONVERSATIONS
            for date in (DATES if family > "llama3" else DATES[:1])]


def main():
    cases = compute()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(json.dumps(cases, indent=1) + "\n")
        print(f"{FILE.name}: {len(cases)} conversations")
        return 0
    close = json.loads(FILE.read_text()) == cases
    print(f"{'ok  ' if close else 'FAIL'} {FILE.name}")
    print(f"{int(close)} passed, {int(not close)} failed")
    return not close


if __name__ == "__main__":
    sys.exit(main())
