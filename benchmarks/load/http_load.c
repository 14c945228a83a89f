/* Posts over HTTP/1.1 keep-alive connections, and polls and acknowledges on others, as fast as the server answers.
 *
 *   http_load port=N [tls=1] connections=64 post=FILE messages=1 consumers=0 [poll=FILE ack=FILE token=MARKER] [drain=1]
 *
 * FILE holds a whole request, head and body. In a post, every {{stamp-nanosecond}} becomes the time of sending and every
 * {{unique-handle-id}} a number never used before (both keep their width, so Content-Length stays true). An acknowledgement's
 * FILE is its head up to and including "Content-Length: "; its body is JSON. Tokens are found in a poll's answer behind MARKER. */
#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 400 };

struct request {
    unsigned char *text;
    size_t length;
    size_t *stamps, *handles;
    size_t stamp_count, handle_count;
};

struct client {
    struct peer peer;
    int64_t sent_at;
    bool waits; /* a poster: for the answer to its post */
    long taken; /* a consumer: messages it has received and not yet acknowledged */
};

struct answer {
    int status;
    const unsigned char *body;
    size_t length, whole;
};

static struct request post, poll_request, ack_head;
static const char *token_marker;
static size_t token_marker_length;
static uint64_t next_handle;
static long messages_per_post;
static bool draining;
static long unacknowledged;

static struct request read_request(const char *path) {
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
static bool next_answer(struct wire *wire, struct answer *answer) {
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
    *answer = (struct answer){atoi((const char *)head + 9), end + 4, body_length, head_length + body_length};
    return length >= answer->whole;
}

static void check(const struct answer *answer) {
    bool refused = answer->length && memmem(answer->body, answer->length, "code", 4);
    if (answer->status / 100 != 2 || refused)
        die("answered with %d: %.*s", answer->status, (int)(answer->length < SHOWN ? answer->length : SHOWN), answer->body);
}

static void send_post(struct client *client, int64_t now) {
    struct bytes *out = &client->peer.wire.out;
    unsigned char *copy = bytes_room(out, post.length);
    memcpy(copy, post.text, post.length);
    out->end += post.length;
    for (size_t i = 0; i < post.stamp_count; i++) write_digits(copy + post.stamps[i], (uint64_t)now);
    for (size_t i = 0; i < post.handle_count; i++) write_digits(copy + post.handles[i], next_handle++);
    client->sent_at = now;
    client->waits = true;
    run.outstanding += messages_per_post;
}

static void on_poster(struct peer *peer) {
    struct client *client = (struct client *)peer;
    struct answer answer;
    int64_t now = now_ns();
    while (next_answer(&peer->wire, &answer)) {
        check(&answer);
        note_posted(client->sent_at, now, messages_per_post);
        bytes_use(&peer->wire.in, answer.whole);
        client->waits = false;
    }
    if (!client->waits && may_post(now)) send_post(client, now);
}

/* A token is a string of msgpack (0xd9 and its length, or a short one), or ends where no token's letter stands. */
static size_t token_length(const unsigned char **at) {
    if (**at == 0xd9) {
        *at += 2;
        return (*at)[-1];
    }
    if ((**at & 0xe0) == 0xa0) return *(*at)++ & 0x1f;
    size_t length = 0;
    while (memchr("0123456789abcdef.", (*at)[length], 17)) length++;
    return length;
}

static void add_token(struct bytes *body, const unsigned char *token, size_t length) {
    bytes_add(body, bytes_length(body) ? ",\"" : "{\"tokens\":[\"", bytes_length(body) ? 2 : 12);
    bytes_add(body, token, length);
    bytes_add(body, "\"", 1);
}

static void send_acknowledgement(struct wire *wire, struct bytes *body) {
    char length[32];
    bytes_add(body, "]}", 2);
    bytes_add(&wire->out, ack_head.text, ack_head.length);
    bytes_add(&wire->out, length, (size_t)sprintf(length, "%zu\r\n\r\n", bytes_length(body)));
    bytes_add(&wire->out, bytes_head(body), bytes_length(body));
    bytes_use(body, bytes_length(body));
}

static long take_messages(const struct answer *answer, struct wire *wire, int64_t now) {
    static struct bytes body;
    const unsigned char *at = answer->body, *end = answer->body + answer->length;
    long count = 0;
    while ((at = memmem(at, (size_t)(end - at), token_marker, token_marker_length))) {
        at += token_marker_length;
        size_t length = token_length(&at);
        add_token(&body, at, length);
        note_received(find_stamp(at, (size_t)(end - at), &at), now);
        count++;
    }
    if (count) send_acknowledgement(wire, &body);
    return count;
}

static void on_polled(struct client *client, const struct answer *answer) {
    if (answer->status != 200) check(answer);
    client->taken = take_messages(answer, &client->peer.wire, now_ns());
    unacknowledged += client->taken;
    if (!client->taken && draining) run.drained = true;
}

static void on_acknowledged(struct client *client, const struct answer *answer) {
    check(answer);
    unacknowledged -= client->taken;
    client->taken = 0;
}

static void on_consumer(struct peer *peer) {
    struct client *client = (struct client *)peer;
    struct answer answer;
    while (next_answer(&peer->wire, &answer)) {
        (client->taken ? on_acknowledged : on_polled)(client, &answer);
        bytes_use(&peer->wire.in, answer.whole);
        if (!client->taken) bytes_add(&peer->wire.out, poll_request.text, poll_request.length);
    }
}

static bool finished(void) {
    if (draining) return run.drained && !unacknowledged;
    return !may_post(now_ns()) && !run.outstanding && (!run.consumes || (run.received >= run.posted && !unacknowledged));
}

static struct client *connect_client(void (*on_input)(struct peer *)) {
    struct client *client = calloc(1, sizeof *client);
    wire_connect(&client->peer.wire, option("host", "127.0.0.1"), (int)option_number("port", 0), option_number("tls", 0));
    client->peer.on_input = on_input;
    return client;
}

int main(int count, char **words) {
    read_options(count, words);
    long posters = option_number("connections", 0), consumers = option_number("consumers", 0);
    struct peer **peers = calloc((size_t)(posters + consumers), sizeof *peers);
    messages_per_post = option_number("messages", 1);
    draining = option_number("drain", 0);
    next_handle = (uint64_t)now_ns();
    run.consumes = consumers > 0;
    if (posters) post = read_request(option("post", NULL));
    if (consumers) {
        poll_request = read_request(option("poll", NULL));
        ack_head = read_request(option("ack", NULL));
        token_marker = option("token", NULL);
        token_marker_length = strlen(token_marker);
    }
    for (long i = 0; i < posters + consumers; i++) peers[i] = &connect_client(i < posters ? on_poster : on_consumer)->peer;
    wait_for_go();
    start_clock();
    for (long i = posters; i < posters + consumers; i++) bytes_add(&peers[i]->wire.out, poll_request.text, poll_request.length);
    loop(peers, (size_t)(posters + consumers), finished);
    report();
    return 0;
}
