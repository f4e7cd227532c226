/* For tests/formats/check_tokenizers.py: answers questions about a tokenizer, without a word of
 * judgement.
 *
 *     check_tokenizer MODEL QUESTIONS ANSWERS
 *
 * A question is what is asked (0: the ids of a text, 1: those with special tokens, 2: the text of
 * ids), the number of bytes or ids, and these; its answer is the number of ids or bytes, and these.
 * Every number is an int32 as this machine writes it. */
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/output.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ENCODE, ENCODE_SPECIAL, DECODE };

static void answer(FILE *to, const Tokenizer *tokenizer, int what, size_t size, const char *asked) {
    size_t count;
    int *ids = xmalloc(size * sizeof *ids);
    char *bytes = NULL;
    if (what == DECODE) {
        memcpy(ids, asked, size * sizeof *ids);
        bytes = tokenizer_decode(tokenizer, size, ids, &count);
    } else {
        free(ids);
        ids = tokenizer_encode(tokenizer, size, asked, what == ENCODE_SPECIAL, &count);
    }
    fwrite(&(int32_t){(int32_t)count}, sizeof(int32_t), 1, to);
    fwrite(bytes ? bytes : (char *)ids, bytes ? 1 : sizeof *ids, count, to);
    free(ids);
    free(bytes);
}

int main(int argc, char **argv) {
    if (argc != 4) fail("usage: check_tokenizer MODEL QUESTIONS ANSWERS");
    Tokenizer *tokenizer = tokenizer_open_any(argv[1]);
    size_t length;
    char *questions = file_read(argv[2], &length);
    Output output = output_open(argv[3]);
    for (size_t at = 0; at < length;) {
        int32_t head[2];
        memcpy(head, questions + at, sizeof head);
        at += sizeof head;
        answer(output.file, tokenizer, head[0], (size_t)head[1], questions + at);
        at += (size_t)head[1] * (head[0] == DECODE ? sizeof(int32_t) : 1);
    }
    output_close(&output);
    free(questions);
    tokenizer_close(tokenizer);
}
