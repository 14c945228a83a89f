/* Publishes to a RabbitMQ quorum queue with publisher confirms, and consumes from it, speaking AMQP 0-9-1 frames directly.
 *
 *   amqp_load port=N [tls=1] queue=NAME connections=64 window=1 body=FILE consumers=0 [delete=1]
 *
 * Each publisher keeps "window" persistent messages unconfirmed; all that fit go out in one write. A consumer takes up to 2000
 * unacknowledged messages and acknowledges a hundred at a time, or fewer once nothing more comes. The frames are laid out once
 * and only stamped afterwards, so this client costs less than a general library would. */
#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_METHOD = 1, FRAME_BODY = 3, FRAME_END = 0xCE, FRAME_MAX = 131072, HEAD = 7, RING = 1 << 14, PREFETCH = 2000, ACK_EACH = 100 };

#define METHOD(class, number) ((class) << 16 | (number))

struct frame {
    int type;
    const unsigned char *payload;
    size_t length;
};

struct publisher {
    struct peer peer;
    uint64_t next_tag, lowest; /* next delivery tag; lowest tag that is not confirmed */
    int64_t sent_at[RING];     /* by tag; 0: confirmed */
};

struct consumer {
    struct peer peer;
    uint64_t tag; /* of the message whose body comes next, or came last */
    long unacknowledged;
};

static struct bytes publication; /* the three frames of one message */
static size_t *stamps, stamp_count;
static long window;

/* --- frames ------------------------------------------------------------------------------------------------------- */

static void add_number(struct bytes *bytes, uint64_t value, int width) {
    unsigned char digits[8];
    for (int i = 0; i < width; i++) digits[i] = (unsigned char)(value >> 8 * (width - 1 - i));
    bytes_add(bytes, digits, (size_t)width);
}

static uint64_t number_at(const unsigned char *at, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; i++) value = value << 8 | at[i];
    return value;
}

static void add_short_string(struct bytes *bytes, const char *text) {
    add_number(bytes, strlen(text), 1);
    bytes_add(bytes, text, strlen(text));
}

static void add_frame(struct bytes *out, int type, int channel, const void *payload, size_t length) {
    add_number(out, (uint64_t)type, 1);
    add_number(out, (uint64_t)channel, 2);
    add_number(out, length, 4);
    bytes_add(out, payload, length);
    add_number(out, FRAME_END, 1);
}

static void add_method(struct bytes *out, int channel, uint32_t method, struct bytes *arguments) {
    struct bytes payload = {0};
    add_number(&payload, method, 4);
    if (arguments) bytes_add(&payload, bytes_head(arguments), bytes_length(arguments));
    add_frame(out, FRAME_METHOD, channel, bytes_head(&payload), bytes_length(&payload));
    free(payload.at);
    if (arguments) bytes_use(arguments, bytes_length(arguments));
}

static bool next_frame(struct wire *wire, struct frame *frame) {
    const unsigned char *head = bytes_head(&wire->in);
    if (bytes_length(&wire->in) < HEAD) return false;
    frame->type = head[0];
    frame->length = number_at(head + 3, 4);
    frame->payload = head + HEAD;
    return bytes_length(&wire->in) >= HEAD + frame->length + 1;
}

static void use_frame(struct wire *wire, const struct frame *frame) { bytes_use(&wire->in, HEAD + frame->length + 1); }

static uint32_t method_of(const struct frame *frame) {
    uint32_t method = (uint32_t)number_at(frame->payload, 4);
    if (method == METHOD(10, 50) || method == METHOD(20, 40)) /* connection.close, channel.close */
        die("the server closed the channel: %.*s", frame->payload[6], frame->payload + 7);
    return method;
}

/* --- handshake, blocking ------------------------------------------------------------------------------------------ */

static void expect(struct wire *wire, uint32_t wanted) {
    struct frame frame;
    wire_send(wire);
    wire_receive_at_least(wire, HEAD);
    wire_receive_at_least(wire, HEAD + number_at(bytes_head(&wire->in) + 3, 4) + 1);
    if (!next_frame(wire, &frame) || method_of(&frame) != wanted) die("expected method %x", wanted);
    use_frame(wire, &frame);
}

static void log_in(struct wire *wire) {
    struct bytes arguments = {0};
    bytes_add(&wire->out, "AMQP\0\0\11\1", 8);
    expect(wire, METHOD(10, 10));
    add_number(&arguments, 0, 4); /* no client properties */
    add_short_string(&arguments, "PLAIN");
    add_number(&arguments, 12, 4);
    bytes_add(&arguments, "\0guest\0guest", 12);
    add_short_string(&arguments, "en_US");
    add_method(&wire->out, 0, METHOD(10, 11), &arguments);
    expect(wire, METHOD(10, 30));
    add_number(&arguments, 1, 2); /* one channel */
    add_number(&arguments, FRAME_MAX, 4);
    add_number(&arguments, 0, 2); /* no heartbeat */
    add_method(&wire->out, 0, METHOD(10, 31), &arguments);
    add_short_string(&arguments, "/");
    add_number(&arguments, 0, 2);
    add_method(&wire->out, 0, METHOD(10, 40), &arguments);
    expect(wire, METHOD(10, 41));
    add_number(&arguments, 0, 1);
    add_method(&wire->out, 1, METHOD(20, 10), &arguments);
    expect(wire, METHOD(20, 11));
    free(arguments.at);
}

static void declare_queue(struct wire *wire, const char *queue) {
    struct bytes arguments = {0}, table = {0};
    add_short_string(&table, "x-queue-type");
    add_number(&table, 'S', 1);
    add_number(&table, 6, 4);
    bytes_add(&table, "quorum", 6);
    add_number(&arguments, 0, 2);
    add_short_string(&arguments, queue);
    add_number(&arguments, 2, 1); /* durable */
    add_number(&arguments, bytes_length(&table), 4);
    bytes_add(&arguments, bytes_head(&table), bytes_length(&table));
    add_method(&wire->out, 1, METHOD(50, 10), &arguments);
    expect(wire, METHOD(50, 11));
}

static void delete_queue(struct wire *wire, const char *queue) {
    struct bytes arguments = {0};
    add_number(&arguments, 0, 2);
    add_short_string(&arguments, queue);
    add_number(&arguments, 0, 1);
    add_method(&wire->out, 1, METHOD(50, 40), &arguments);
    expect(wire, METHOD(50, 41));
}

static void start_confirming(struct wire *wire) {
    struct bytes arguments = {0};
    add_number(&arguments, 0, 1);
    add_method(&wire->out, 1, METHOD(85, 10), &arguments);
    expect(wire, METHOD(85, 11));
}

static void start_consuming(struct wire *wire, const char *queue) {
    struct bytes arguments = {0};
    add_number(&arguments, 0, 4);
    add_number(&arguments, PREFETCH, 2);
    add_number(&arguments, 0, 1);
    add_method(&wire->out, 1, METHOD(60, 10), &arguments);
    expect(wire, METHOD(60, 11));
    add_number(&arguments, 0, 2);
    add_short_string(&arguments, queue);
    add_short_string(&arguments, "");
    add_number(&arguments, 0, 1); /* acknowledgements wanted */
    add_number(&arguments, 0, 4);
    add_method(&wire->out, 1, METHOD(60, 20), &arguments);
    expect(wire, METHOD(60, 21));
}

/* --- publishing --------------------------------------------------------------------------------------------------- */

static void lay_out_publication(const char *queue, const char *path) {
    struct bytes arguments = {0}, header = {0};
    static unsigned char body[FRAME_MAX];
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(body, 1, sizeof body, file) : 0;
    if (!length || length > FRAME_MAX - HEAD - 1) die("%s cannot be read, or is too large for one frame", path);
    fclose(file);
    add_number(&arguments, 0, 2);
    add_short_string(&arguments, ""); /* the default exchange */
    add_short_string(&arguments, queue);
    add_number(&arguments, 0, 1);
    add_method(&publication, 1, METHOD(60, 40), &arguments);
    add_number(&header, 60, 2);
    add_number(&header, 0, 2);
    add_number(&header, length, 8);
    add_number(&header, 0x1000, 2); /* only the delivery mode is given */
    add_number(&header, 2, 1);      /* persistent */
    add_frame(&publication, 2, 1, bytes_head(&header), bytes_length(&header));
    add_frame(&publication, FRAME_BODY, 1, body, length);
    stamp_count = find_all(bytes_head(&publication), bytes_length(&publication), "{{stamp-nanosecond}}", &stamps);
}

static void publish(struct publisher *publisher, int64_t now) {
    struct bytes *out = &publisher->peer.wire.out;
    unsigned char *copy = bytes_room(out, bytes_length(&publication));
    bytes_add(out, bytes_head(&publication), bytes_length(&publication));
    for (size_t i = 0; i < stamp_count; i++) write_digits(copy + stamps[i], (uint64_t)now);
    publisher->sent_at[publisher->next_tag++ % RING] = now;
    run.outstanding++;
}

static void confirmed(struct publisher *publisher, uint64_t tag, int64_t now) {
    int64_t *sent_at = &publisher->sent_at[tag % RING];
    if (!*sent_at) return;
    note_posted(*sent_at, now, 1);
    *sent_at = 0;
}

static void on_confirm(struct publisher *publisher, uint64_t tag, bool multiple, int64_t now) {
    confirmed(publisher, tag, now);
    while (publisher->lowest < publisher->next_tag && (multiple ? publisher->lowest <= tag : !publisher->sent_at[publisher->lowest % RING]))
        confirmed(publisher, publisher->lowest++, now);
}

static void on_publisher(struct peer *peer) {
    struct publisher *publisher = (struct publisher *)peer;
    struct frame frame;
    int64_t now = now_ns();
    for (; next_frame(&peer->wire, &frame); use_frame(&peer->wire, &frame)) {
        uint32_t method = frame.type == FRAME_METHOD ? method_of(&frame) : 0;
        if (method == METHOD(60, 120)) die("the server refused a message");
        if (method == METHOD(60, 80)) on_confirm(publisher, number_at(frame.payload + 4, 8), frame.payload[12] & 1, now);
    }
    while (may_post(now) && publisher->next_tag - publisher->lowest < (uint64_t)window) publish(publisher, now = now_ns());
}

/* --- consuming ---------------------------------------------------------------------------------------------------- */

static void acknowledge(struct peer *peer) {
    struct consumer *consumer = (struct consumer *)peer;
    struct bytes arguments = {0};
    if (!consumer->unacknowledged) return;
    add_number(&arguments, consumer->tag, 8);
    add_number(&arguments, 1, 1); /* and all before it */
    add_method(&peer->wire.out, 1, METHOD(60, 80), &arguments);
    free(arguments.at);
    consumer->unacknowledged = 0;
}

static void on_consumer(struct peer *peer) {
    struct consumer *consumer = (struct consumer *)peer;
    const unsigned char *after;
    struct frame frame;
    for (; next_frame(&peer->wire, &frame); use_frame(&peer->wire, &frame)) {
        if (frame.type == FRAME_METHOD && method_of(&frame) == METHOD(60, 60)) /* deliver: the consumer's name, then the tag */
            consumer->tag = number_at(frame.payload + 5 + frame.payload[4], 8);
        if (frame.type != FRAME_BODY) continue;
        note_received(find_stamp(frame.payload, frame.length, &after), now_ns());
        if (++consumer->unacknowledged == ACK_EACH) acknowledge(peer);
    }
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static bool finished(void) {
    return !may_post(now_ns()) && !run.outstanding && (!run.consumes || run.received >= run.posted);
}

static struct peer *connect_peer(size_t size, const char *queue) {
    struct peer *peer = calloc(1, size);
    wire_connect(&peer->wire, option("host", "127.0.0.1"), (int)option_number("port", 0), option_number("tls", 0));
    log_in(&peer->wire);
    declare_queue(&peer->wire, queue);
    return peer;
}

static struct peer *connect_publisher(const char *queue) {
    struct publisher *publisher = (struct publisher *)connect_peer(sizeof *publisher, queue);
    start_confirming(&publisher->peer.wire);
    publisher->peer.on_input = on_publisher;
    publisher->next_tag = publisher->lowest = 1;
    return &publisher->peer;
}

static struct peer *connect_consumer(const char *queue) {
    struct consumer *consumer = (struct consumer *)connect_peer(sizeof *consumer, queue);
    start_consuming(&consumer->peer.wire, queue);
    consumer->peer.on_input = on_consumer;
    consumer->peer.on_quiet = acknowledge;
    return &consumer->peer;
}

/* Acknowledgements are not answered; a declaration behind them on the same channel is, once they have been taken. */
static void settle(struct peer *peer, const char *queue) {
    wire_set_blocking(&peer->wire, true);
    acknowledge(peer);
    declare_queue(&peer->wire, queue);
}

int main(int count, char **words) {
    read_options(count, words);
    const char *queue = option("queue", NULL);
    if (option_number("delete", 0)) {
        delete_queue(&connect_peer(sizeof(struct peer), queue)->wire, queue);
        return 0;
    }
    long publishers = option_number("connections", 0), consumers = option_number("consumers", 0);
    struct peer **peers = calloc((size_t)(publishers + consumers), sizeof *peers);
    window = option_number("window", 1);
    if (window >= RING) die("window must be less than %d", RING);
    run.consumes = consumers > 0;
    lay_out_publication(queue, option("body", NULL));
    for (long i = 0; i < publishers + consumers; i++) peers[i] = i < publishers ? connect_publisher(queue) : connect_consumer(queue);
    wait_for_go();
    start_clock();
    loop(peers, (size_t)(publishers + consumers), finished);
    for (long i = publishers; i < publishers + consumers; i++) settle(peers[i], queue);
    report();
    return 0;
}
