#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

enum { EVENTS = 256, QUIET_MS = 5, SCHEDULED_MS = 1, GRACE_S = 30 };

struct run run;

static char **option_words;
static int option_count;

void read_options(int count, char **words) {
    option_count = count - 1;
    option_words = words + 1;
}

const char *option(const char *name, const char *otherwise) {
    size_t length = strlen(name);
    for (int i = 0; i < option_count; i++)
        if (!strncmp(option_words[i], name, length) && option_words[i][length] == '=') return option_words[i] + length + 1;
    if (!otherwise) die("the option %s= is missing", name);
    return otherwise;
}

long option_number(const char *name, long otherwise) {
    const char *text = option(name, "");
    return *text ? strtol(text, NULL, 10) : otherwise;
}

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

void add_sample(struct samples *samples, int64_t nanos) {
    if (samples->count == samples->capacity) {
        samples->capacity = samples->capacity ? 2 * samples->capacity : 1 << 16;
        samples->micros = realloc(samples->micros, samples->capacity * sizeof *samples->micros);
        if (!samples->micros) die("out of memory");
    }
    samples->micros[samples->count++] = (uint32_t)(nanos / 1000);
}

bool is_measured(int64_t now) { return now >= run.measure_from && now < run.stop_at; }

void note_posted(int64_t sent_at, int64_t now, long messages) {
    run.posted += messages;
    run.outstanding -= messages;
    if (!is_measured(now)) return;
    run.posted_measured += messages;
    add_sample(&run.post, now - sent_at);
}

void note_received(int64_t posted_at, int64_t now) {
    run.received++;
    if (!is_measured(now)) return;
    run.received_measured++;
    add_sample(&run.end_to_end, now - posted_at);
}

/* The time at which a message was posted stands in its payload as placed="…"; in JSON the quote is escaped. */
int64_t find_stamp(const unsigned char *from, size_t length, const unsigned char **after) {
    static const char marker[] = "placed=";
    const unsigned char *at = memmem(from, length, marker, sizeof marker - 1);
    if (!at) die("a message came without its time stamp");
    at += sizeof marker - 1;
    while (*at < '0' || *at > '9') at++;
    int64_t stamp = 0;
    for (int i = 0; i < STAMP_DIGITS; i++) stamp = stamp * 10 + (*at++ - '0');
    *after = at;
    return stamp;
}

void write_digits(unsigned char *at, uint64_t value) {
    for (int i = STAMP_DIGITS - 1; i >= 0; i--, value /= 10) at[i] = (unsigned char)('0' + value % 10);
}

size_t find_all(const unsigned char *in, size_t length, const char *what, size_t **places) {
    size_t count = 0, width = strlen(what);
    const unsigned char *at = in, *end = in + length;
    *places = NULL;
    while ((at = memmem(at, (size_t)(end - at), what, width))) {
        *places = realloc(*places, (count + 1) * sizeof **places);
        (*places)[count++] = (size_t)(at - in);
        at += width;
    }
    return count;
}

void wait_for_go(void) {
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF) exit(1);
}

void start_clock(void) {
    int64_t now = now_ns();
    run.measure_from = now + option_number("warmup_ms", 500) * 1000000LL;
    run.stop_at = run.measure_from + option_number("measure_ms", 3000) * 1000000LL;
    run.give_up_at = run.stop_at + GRACE_S * 1000000000LL;
}

static int queue;

static void watch(struct peer *peer, int change) {
    struct epoll_event event = {.events = EPOLLIN | (peer->wire.waits_to_write ? EPOLLOUT : 0), .data.ptr = peer};
    if (epoll_ctl(queue, change, peer->wire.fd, &event)) die("epoll failed");
}

void serve(struct peer *peer, void (*turn)(struct peer *)) {
    bool waited = peer->wire.waits_to_write;
    if (turn) turn(peer);
    wire_send(&peer->wire);
    if (waited != peer->wire.waits_to_write) watch(peer, EPOLL_CTL_MOD);
}

void loop(struct peer **peers, size_t count, bool (*finished)(void)) {
    struct epoll_event events[EVENTS];
    queue = epoll_create1(0);
    for (size_t i = 0; i < count; i++) {
        wire_set_blocking(&peers[i]->wire, false);
        watch(peers[i], EPOLL_CTL_ADD);
        serve(peers[i], peers[i]->on_input);
    }
    while (!finished()) {
        int ready = epoll_wait(queue, events, EVENTS, run.on_turn ? SCHEDULED_MS : QUIET_MS);
        for (int i = 0; i < ready; i++) {
            struct peer *peer = events[i].data.ptr;
            bool came = (events[i].events & ~(uint32_t)EPOLLOUT) && wire_receive(&peer->wire);
            serve(peer, came ? peer->on_input : NULL);
        }
        for (size_t i = 0; !ready && i < count; i++)
            if (peers[i]->on_quiet) serve(peers[i], peers[i]->on_quiet);
        if (run.on_turn) run.on_turn(now_ns());
        if (now_ns() > run.give_up_at)
            die("gave up waiting: %ld posted, %ld unanswered, %ld received", run.posted, run.outstanding, run.received);
    }
}

static int by_size(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

void print_percentiles(const char *name, struct samples *samples) {
    qsort(samples->micros, samples->count, sizeof *samples->micros, by_size);
    size_t last = samples->count ? samples->count - 1 : 0;
    uint32_t middle = samples->count ? samples->micros[last / 2] : 0;
    uint32_t high = samples->count ? samples->micros[(size_t)((double)last * 0.99)] : 0;
    printf(", \"%s_p50_us\": %u, \"%s_p99_us\": %u", name, middle, name, high);
}

void report(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    double seconds = (double)(run.stop_at - run.measure_from) / 1e9;
    printf("{\"posted\": %ld, \"received\": %ld, \"posted_per_s\": %.1f, \"received_per_s\": %.1f, \"client_cpu_s\": %.3f",
           run.posted, run.received, (double)run.posted_measured / seconds, (double)run.received_measured / seconds, cpu);
    print_percentiles("post", &run.post);
    print_percentiles("end_to_end", &run.end_to_end);
    puts("}");
}
