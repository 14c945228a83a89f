/* Posts over HTTP/1.1 keep-alive connections, and polls and acknowledges on others, as fast as the server answers.
 *
 *   http_load port=N [tls=1] connections=64 post=FILE messages=1 consumers=0 [poll=FILE ack=FILE token=MARKER] [drain=1]
 *
 * FILE holds a whole request, head and body. In a post, every {{stamp-nanosecond}} becomes the time of sending and every
 * {{unique-handle-id}} a number never used before (both keep their width, so Content-Length stays true). An acknowledgement's
 * FILE is its head up to and including "Content-Length: "; its body is JSON. Tokens are found in a poll's answer behind MARKER. */
#define _GNU_SOURCE
#include "http.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 400 };

struct client {
    struct peer peer;
    int64_t sent_at;
    bool waits; /* a poster: for the answer to its post */
    long taken; /* a consumer: messages it has received and not yet acknowledged */
};

static struct request post, poll_request, ack_head;
static const char *token_marker;
static size_t token_marker_length;
static uint64_t next_handle;
static long messages_per_post;
static bool draining;
static long unacknowledged;

static void check(const struct answer *answer) {
    bool refused = answer->length && memmem(answer->body, answer->length, "code", 4);
    if (answer->status / 100 != 2 || refused)
        die("answered with %d: %.*s", answer->status, (int)(answer->length < SHOWN ? answer->length : SHOWN), answer->body);
}

static void send_post(struct client *client, int64_t now) {
    struct bytes *out = &client->peer.wire.out;
    add_post(out, &post, now, &next_handle);
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
    if (count) send_acknowledgement(wire, &ack_head, &body);
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
