/* Posts on a schedule that does not wait for answers (open loop), and polls and acknowledges on other connections.
 *
 *   open_load port=N rate=POSTS_PER_S connections=64 pipeline=64 burst=1 patience_ms=1000 post=FILE
 *             [consumers=2 poll=FILE ack=FILE token=MARKER]
 *
 * Post number n is due n / rate seconds after the start, and its time to an answer is counted from then, also when it could
 * be sent only later because every connection had ``pipeline`` posts without an answer. A post that could not be sent within
 * its patience counts as unsent. Up to ``burst`` posts that are due go to one connection in one write, since a write for each
 * costs this program more than the server needs to refuse it. A refusal is an answer: its code is counted, and whether it had a Retry-After. */
#define _GNU_SOURCE
#include "http.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

enum { CODES = 16, CODE_LENGTH = 48, RETRIES = 8 };

struct client {
    struct peer peer;
    int64_t *due; /* a poster: a ring of the posts without an answer, oldest first */
    long first, unanswered;
    long taken;      /* a consumer: messages that it has received and not yet acknowledged */
    int64_t sent_at; /* a consumer: its acknowledgement */
};

static struct request post, poll_request, ack_head;
static const char *token_marker;
static size_t token_marker_length;
static uint64_t next_handle;
static struct client **posters;
static long poster_count, pipeline, burst, next_poster;
static int64_t interval, patience, next_due;
static long offered, unsent, refused, refused_measured, without_retry_after, polls_refused, acks_refused, unacknowledged;
static struct { char name[CODE_LENGTH]; long count; } codes[CODES];
static struct samples acks, refusals;

static void count_code(const struct answer *answer) {
    static const char marker[] = "\"code\":\"";
    char name[CODE_LENGTH] = "";
    const unsigned char *at = memmem(answer->body, answer->length, marker, sizeof marker - 1);
    for (size_t i = 0; at && i + 1 < sizeof name && at[sizeof marker - 1 + i] != '"'; i++) {
        name[i] = (char)at[sizeof marker - 1 + i];
        name[i + 1] = 0;
    }
    for (int i = 0; i < CODES; i++)
        if (!codes[i].count || !strcmp(codes[i].name, name)) {
            strcpy(codes[i].name, name);
            codes[i].count++;
            return;
        }
    die("more than %d different codes", CODES);
}

static bool has_retry_after(const struct answer *answer) {
    static const char marker[] = "\r\nretry-after: ";
    return memmem(answer->head, (size_t)(answer->body - answer->head), marker, sizeof marker - 1) != NULL;
}

static void note_refused(const struct answer *answer, int64_t due, int64_t now) {
    run.outstanding--;
    refused++;
    count_code(answer);
    if (!has_retry_after(answer)) without_retry_after++;
    if (!is_measured(now)) return;
    refused_measured++;
    add_sample(&refusals, now - due);
}

static void on_poster(struct peer *peer) {
    struct client *client = (struct client *)peer;
    struct answer answer;
    int64_t now = now_ns();
    while (next_answer(&peer->wire, &answer)) {
        if (!client->unanswered) die("an answer that nobody asked for");
        int64_t due = client->due[client->first];
        client->first = (client->first + 1) % pipeline;
        client->unanswered--;
        if (answer.status / 100 == 2)
            note_posted(due, now, 1);
        else
            note_refused(&answer, due, now);
        bytes_use(&peer->wire.in, answer.whole);
    }
}

/* The next connection that may have one more post without an answer, or NULL. */
static struct client *find_poster(void) {
    for (long i = 0; i < poster_count; i++) {
        struct client *client = posters[next_poster];
        next_poster = (next_poster + 1) % poster_count;
        if (client->unanswered < pipeline) return client;
    }
    return NULL;
}

static bool is_due(int64_t now) { return next_due <= now && may_post(next_due); }

/* Sends what is due on this connection, up to a burst, in one write. */
static void send_burst(struct client *client, int64_t now) {
    for (long i = 0; i < burst && client->unanswered < pipeline && is_due(now); i++, next_due += interval) {
        add_post(&client->peer.wire.out, &post, next_due, &next_handle);
        client->due[(client->first + client->unanswered++) % pipeline] = next_due;
        run.outstanding++;
        offered++;
    }
    serve(&client->peer, NULL);
}

static void send_due(int64_t now) {
    while (is_due(now)) {
        struct client *client = find_poster();
        if (client) {
            send_burst(client, now);
        } else {
            if (next_due + patience > now) return;
            offered++;
            unsent++;
            next_due += interval;
        }
    }
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

static void on_consumer(struct peer *peer) {
    struct client *client = (struct client *)peer;
    struct answer answer;
    int64_t now = now_ns();
    while (next_answer(&peer->wire, &answer)) {
        if (client->taken) {
            if (answer.status != 200) acks_refused += client->taken;
            unacknowledged -= client->taken;
            client->taken = 0;
            if (is_measured(now)) add_sample(&acks, now - client->sent_at);
        } else if (answer.status != 200) {
            polls_refused++;
        } else {
            client->taken = take_messages(&answer, &peer->wire, now);
            client->sent_at = now;
            unacknowledged += client->taken;
        }
        bytes_use(&peer->wire.in, answer.whole);
        if (!client->taken) bytes_add(&peer->wire.out, poll_request.text, poll_request.length);
    }
}

static bool finished(void) {
    return !may_post(next_due) && !run.outstanding && (!run.consumes || (run.received >= run.posted && !unacknowledged));
}

static struct client *connect_client(void (*on_input)(struct peer *)) {
    struct client *client = calloc(1, sizeof *client);
    client->due = calloc((size_t)pipeline, sizeof *client->due);
    wire_connect(&client->peer.wire, option("host", "127.0.0.1"), (int)option_number("port", 0), option_number("tls", 0));
    client->peer.on_input = on_input;
    return client;
}

static void report_open(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    double seconds = (double)(run.stop_at - run.measure_from) / 1e9;
    printf("{\"offered\": %ld, \"unsent\": %ld, \"accepted\": %ld, \"refused\": %ld, \"without_retry_after\": %ld", offered, unsent,
           run.posted, refused, without_retry_after);
    printf(", \"accepted_per_s\": %.1f, \"refused_per_s\": %.1f", (double)run.posted_measured / seconds, (double)refused_measured / seconds);
    printf(", \"received\": %ld, \"polls_refused\": %ld, \"acks_refused\": %ld, \"client_cpu_s\": %.3f", run.received, polls_refused,
           acks_refused, cpu);
    print_percentiles("accepted", &run.post);
    print_percentiles("refused", &refusals);
    print_percentiles("ack", &acks);
    print_percentiles("end_to_end", &run.end_to_end);
    printf(", \"codes\": {");
    for (int i = 0; i < CODES && codes[i].count; i++) printf("%s\"%s\": %ld", i ? ", " : "", codes[i].name, codes[i].count);
    puts("}}");
}

int main(int count, char **words) {
    read_options(count, words);
    poster_count = option_number("connections", 0);
    long consumers = option_number("consumers", 0);
    struct peer **peers = calloc((size_t)(poster_count + consumers), sizeof *peers);
    posters = calloc((size_t)poster_count, sizeof *posters);
    pipeline = option_number("pipeline", 1);
    burst = option_number("burst", 1);
    interval = 1000000000LL / option_number("rate", 1);
    patience = option_number("patience_ms", 1000) * 1000000LL;
    next_handle = (uint64_t)now_ns();
    run.consumes = consumers > 0;
    post = read_request(option("post", NULL));
    if (consumers) {
        poll_request = read_request(option("poll", NULL));
        ack_head = read_request(option("ack", NULL));
        token_marker = option("token", NULL);
        token_marker_length = strlen(token_marker);
    }
    for (long i = 0; i < poster_count; i++) peers[i] = &(posters[i] = connect_client(on_poster))->peer;
    for (long i = poster_count; i < poster_count + consumers; i++) peers[i] = &connect_client(on_consumer)->peer;
    wait_for_go();
    start_clock();
    next_due = now_ns();
    run.on_turn = send_due;
    for (long i = poster_count; i < poster_count + consumers; i++) bytes_add(&peers[i]->wire.out, poll_request.text, poll_request.length);
    loop(peers, (size_t)(poster_count + consumers), finished);
    report_open();
    return 0;
}
