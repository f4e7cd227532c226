/* Chapter 10: text to tokens and back, as the two families of Llamas do it.
 *
 *   SentencePiece (Llama 1, 2)   characters grow into pieces; a space is the character ▁; a character that is in no
 *                                piece becomes the tokens of its bytes, <0x00> to <0xFF>
 *   byte level (Llama 3)         a pattern splits the text into words, numbers and spaces, and in each of these bytes
 *                                grow into tokens
 *
 * Both grow by the same byte pair encoding, bpe.h. Source: bpe_model.cc, normalizer.cc and sentencepiece_processor.cc
 * of SentencePiece; Meta's llama3/tokenizer.py on tiktoken; for tokenizer.json, the library tokenizers of Hugging
 * Face. */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Tokenizer Tokenizer;

/* PATH: a model's folder (tokenizer.json, else tokenizer.model, else tokenizer.bin), or one of these files. What it is
 * of SentencePiece's protobuf, tiktoken's ranks, Hugging Face's JSON, llama2.c's .bin and GGUF, its content says. Or
 * fail(). */
Tokenizer *tokenizer_open(const char *path);

/* Where lies what belongs to a model and is not in its weights: its folder, the one that its file lies in, or the .gguf
 * itself. The caller frees. */
char *model_home(const char *model);

/* Whether one of these files lies in a folder. */
bool tokenizer_in(const char *folder);

/* The tokenizer that option --tokenizer names, or if that is NULL, the model's. */
Tokenizer *tokenizer_of_model(const char *model, const char *named);

/* The same as tokenizer_open() of a file's bytes, behind which a NUL follows; they become the tokenizer's. `path` is
 * for messages. */
Tokenizer *tokenizer_parse(const char *path, size_t length, char *bytes);
void tokenizer_close(Tokenizer *tokenizer);

int tokenizer_size(const Tokenizer *tokenizer);        /* V: ids are 0 .. V - 1, special tokens included */

/* BOS, the token that begins a text, is the first that there is of
 *     the token that the post_processor of tokenizer.json puts before a text (what it puts behind one is left out);
 *     bos_token of tokenizer_config.json;
 *     <s> (SentencePiece) or <|begin_of_text|> (byte level);
 *     bos_token_id of config.json;
 * or -1. A model may have one and yet read texts without it: it goes before a text as the post_processor says, wherever
 * there is a tokenizer.json, and otherwise unless tokenizer_config.json's add_bos_token is false. These files are those
 * beside the tokenizer's own. Source: transformers 5.23, which does the same with tokenizer.json, and reads
 * add_bos_token only where it makes a tokenizer of tokenizer.model; where nothing says it, Meta's code and transformers
 * 4 add BOS, and 5 does not. */
int tokenizer_bos(const Tokenizer *tokenizer);
bool tokenizer_adds_bos(const Tokenizer *tokenizer);

/* EOS, which ends one: eos_token of tokenizer_config.json, else </s> or <|end_of_text|>, else eos_token_id of
 * config.json, else -1. */
int tokenizer_eos(const Tokenizer *tokenizer);
int tokenizer_special(const Tokenizer *tokenizer, const char *name); /* the id of "<|eot_id|>", or -1 */
bool tokenizer_byte_level(const Tokenizer *tokenizer); /* Llama 3's family; otherwise SentencePiece's */

/* The ids of a text, of any bytes; no BOS is added. With `special`, names of special tokens in the text become those
 * tokens, as a chat template wants it; otherwise they are text like any other. The caller frees. */
int *tokenizer_encode(const Tokenizer *tokenizer, size_t length, const char *text, bool special, size_t *count);

/* The same of a text that stands behind a special token, without any in it. Some tokenizers put ▁ before a text where
 * it begins, and none here: those of a tokenizer.json whose prepend_scheme is "first". */
int *tokenizer_encode_after(const Tokenizer *tokenizer, size_t length, const char *text, size_t *count);

/* text[*from .. *to) stands between two special tokens, or -1 for none. Some of other people's take the blanks beside
 * them, which are then no part of it. */
void tokenizer_trim(const Tokenizer *tokenizer, int left, int right, const char *text, size_t *from, size_t *to);

/* The text of ids, as the family's own library gives it: without the space that was put before the text, and with
 * U+FFFD for bytes that are no UTF-8. The caller frees; a NUL follows it. */
char *tokenizer_decode(const Tokenizer *tokenizer, size_t count, const int *ids, size_t *length);

/* The bytes that a token adds to a text, a leading space included. SentencePiece's control tokens, such as <s>, add
 * none; tiktoken's add their names. They belong to the tokenizer. */
const char *tokenizer_bytes(const Tokenizer *tokenizer, int id, size_t *length);

/* The name of a token: "▁the", "<0x0A>", "<|eot_id|>"; at byte level, its bytes. It belongs to the tokenizer. */
const char *tokenizer_piece(const Tokenizer *tokenizer, int id, size_t *length);

#endif
