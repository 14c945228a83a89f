/* HTTP requests read from files, answers found in what came in, and acknowledgements made of the tokens in them. */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire.h"

struct request {
    unsigned char *text;
    size_t length;
    size_t *stamps, *handles;
    size_t stamp_count, handle_count;
};

struct answer {
    int status;
    const unsigned char *head, *body;
    size_t length, whole;
};

struct request read_request(const char *path);
void add_post(struct bytes *out, const struct request *post, int64_t stamp, uint64_t *next_handle);
bool next_answer(struct wire *wire, struct answer *answer); /* whether a whole answer lies at the head of what came in */
size_t token_length(const unsigned char **at);
void add_token(struct bytes *body, const unsigned char *token, size_t length);
void send_acknowledgement(struct wire *wire, const struct request *head, struct bytes *body);

#endif
