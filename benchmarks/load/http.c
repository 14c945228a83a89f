#define _GNU_SOURCE
#include "http.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 400 };

struct request read_request(const char *path) {
    struct request request = {0};
    FILE *file = fopen(path, "rb");
    if (!file) die("%s cannot be read", path);
    fseek(file, 0, SEEK_END);
    request.length = (size_t)ftell(file);
    rewind(file);
    request.text = malloc(request.length + 1);
    if (fread(request.text, 1, request.length, file) != request.length) die("%s cannot be read", path);
    fclose(file);
    request.stamp_count = find_all(request.text, request.length, "{{stamp-nanosecond}}", &request.stamps);
    request.handle_count = find_all(request.text, request.length, "{{unique-handle-id}}", &request.handles);
    return request;
}

/* Whether a whole answer lies at the head of what came in. */
bool next_answer(struct wire *wire, struct answer *answer) {
    const unsigned char *head = bytes_head(&wire->in), *end;
    size_t length = bytes_length(&wire->in);
    if (!length || !(end = memmem(head, length, "\r\n\r\n", 4))) return false;
    size_t head_length = (size_t)(end - head) + 4, body_length = 0;
    bool told = false;
    for (const unsigned char *line = head; line < end; line = (unsigned char *)memmem(line, (size_t)(end + 2 - line), "\r\n", 2) + 2)
        if (!strncasecmp((const char *)line, "content-length:", 15)) {
            body_length = strtoul((const char *)line + 15, NULL, 10);
            told = true;
        }
    if (!told) die("an answer without Content-Length: %.*s", SHOWN, head);
    *answer = (struct answer){atoi((const char *)head + 9), head, end + 4, body_length, head_length + body_length};
    return length >= answer->whole;
}

void add_post(struct bytes *out, const struct request *post, int64_t stamp, uint64_t *next_handle) {
    unsigned char *copy = bytes_room(out, post->length);
    memcpy(copy, post->text, post->length);
    out->end += post->length;
    for (size_t i = 0; i < post->stamp_count; i++) write_digits(copy + post->stamps[i], (uint64_t)stamp);
    for (size_t i = 0; i < post->handle_count; i++) write_digits(copy + post->handles[i], (*next_handle)++);
}

/* A token is a string of msgpack (0xd9 and its length, or a short one), or ends where no token's letter stands. */
size_t token_length(const unsigned char **at) {
    if (**at == 0xd9) {
        *at += 2;
        return (*at)[-1];
    }
    if ((**at & 0xe0) == 0xa0) return *(*at)++ & 0x1f;
    size_t length = 0;
    while (memchr("0123456789abcdef.", (*at)[length], 17)) length++;
    return length;
}

void add_token(struct bytes *body, const unsigned char *token, size_t length) {
    bytes_add(body, bytes_length(body) ? ",\"" : "{\"tokens\":[\"", bytes_length(body) ? 2 : 12);
    bytes_add(body, token, length);
    bytes_add(body, "\"", 1);
}

void send_acknowledgement(struct wire *wire, const struct request *ack_head, struct bytes *body) {
    char length[32];
    bytes_add(body, "]}", 2);
    bytes_add(&wire->out, ack_head->text, ack_head->length);
    bytes_add(&wire->out, length, (size_t)sprintf(length, "%zu\r\n\r\n", bytes_length(body)));
    bytes_add(&wire->out, bytes_head(body), bytes_length(body));
    bytes_use(body, bytes_length(body));
}
