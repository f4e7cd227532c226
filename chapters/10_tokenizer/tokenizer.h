/* Text to tokens and back, as the two families of Llamas do it.
 *
 *   SentencePiece (Llama 1, 2)   characters merge into pieces; a space is the character ▁; a
 *                                character that no piece has becomes the tokens of its bytes,
 *                                <0x00> to <0xFF>
 *   byte level (Llama 3)         a pattern splits the text into words, numbers and spaces, and in
 *                                each of these, bytes merge into tokens
 *
 * Both grow by the same byte pair encoding, bpe.h. Source: bpe_model.cc, normalizer.cc and
 * sentencepiece_processor.cc of SentencePiece; Meta's llama3/tokenizer.py on tiktoken. */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Tokenizer Tokenizer;

/* Opens a tokenizer.model, or the one in a folder: SentencePiece's protobuf or tiktoken's ranks,
 * which its first bytes tell apart. Anything else is an error: the formats of other people
 * (tokenizer.json, GGUF, …) are opened by tokenizer_open_any() of 14_engine/tokenizers. */
Tokenizer *tokenizer_open(const char *path);

void tokenizer_close(Tokenizer *tokenizer);

int tokenizer_size(const Tokenizer *tokenizer); /* V: ids are 0 .. V - 1, special tokens included */

/* BOS, the token that begins a text: <s> (SentencePiece), <|begin_of_text|> (byte level), or what
 * the files beside the tokenizer's own say, where 14_engine opens them; or -1. A model may have a
 * BOS and yet be trained on texts without: tokenizer_adds_bos() says whether a text begins with
 * it. */
int tokenizer_bos(const Tokenizer *tokenizer);
bool tokenizer_adds_bos(const Tokenizer *tokenizer);

/* EOS, the token that ends a text: </s> or <|end_of_text|>, or what those files say; or -1. */
int tokenizer_eos(const Tokenizer *tokenizer);
int tokenizer_special(const Tokenizer *tokenizer,
                      const char *name); /* the id of "<|eot_id|>", or -1 */
bool tokenizer_byte_level(
    const Tokenizer *tokenizer); /* Llama 3's family; otherwise SentencePiece's */

/* The ids of a text, of any bytes; no BOS is added. With `special`, names of special tokens in the
 * text become those tokens, as a chat template wants it; otherwise they are text like any other.
 * The caller frees. */
int *tokenizer_encode(const Tokenizer *tokenizer, size_t length, const char *text, bool special,
                      size_t *count);

/* The ids of a text that follows a special token, and has none in it. Some tokenizers put ▁ only
 * before the beginning of a text, and none here. */
int *tokenizer_encode_after(const Tokenizer *tokenizer, size_t length, const char *text,
                            size_t *count);

/* text[*from .. *to) stands between two special tokens, or -1 for none. Some special tokens of
 * other people take the blanks beside them, which then do not belong to the text. */
void tokenizer_trim(const Tokenizer *tokenizer, int left, int right, const char *text, size_t *from,
                    size_t *to);

/* The text of ids, as the family's own library gives it: without the space that was put before the
 * text, and with U+FFFD for bytes that are no UTF-8. The caller frees; a NUL follows it. */
char *tokenizer_decode(const Tokenizer *tokenizer, size_t count, const int *ids, size_t *length);

/* The bytes that a token adds to a text, a leading space included. SentencePiece's control tokens,
 * such as <s>, add none; tiktoken's add their names. They belong to the tokenizer. */
const char *tokenizer_bytes(const Tokenizer *tokenizer, int id, size_t *length);

/* The name of a token: "▁the", "<0x0A>", "<|eot_id|>"; at byte level, its bytes. It belongs to the
 * tokenizer. */
const char *tokenizer_piece(const Tokenizer *tokenizer, int id, size_t *length);

/* ---- tokens, for people to read */

/* Prints bytes: ▁ for a space, \n for a line's end, <0x80> for what is not a character. */
void print_bytes(size_t length, const char *bytes);

/* Prints tokens in this way, with a blank between two; on a terminal, in two colours. */
void print_pieces(const Tokenizer *tokenizer, size_t count, const int *ids);
void print_token(const Tokenizer *tokenizer, int id);

#endif
