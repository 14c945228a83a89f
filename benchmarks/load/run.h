/* One measured run: options, clock, samples, the event loop over all connections, and the report.
 *
 * A run warms up, measures, then stops posting and waits until everything outstanding was answered and received. It prints
 * "ready" when all connections stand and begins when a line comes in, so that whoever measures the server starts exactly then.
 * The report is one line of JSON. */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>
#include "wire.h"

struct peer {
    struct wire wire;
    void (*on_input)(struct peer *); /* bytes came: take what is whole, and put answers into wire.out */
    void (*on_quiet)(struct peer *); /* nothing came for a while; may be NULL */
};

struct samples {
    uint32_t *micros;
    size_t count, capacity;
};

struct run {
    int64_t measure_from, stop_at, give_up_at; /* monotonic nanoseconds */
    long posted, posted_measured;               /* messages, all and within the measured time */
    long received, received_measured;
    long outstanding;                           /* messages sent and not yet answered */
    bool consumes, drained;
    void (*on_turn)(int64_t now); /* called in each turn of the loop, at least every millisecond; may be NULL */
    struct samples post, end_to_end;
};

extern struct run run;

const char *option(const char *name, const char *otherwise);
long option_number(const char *name, long otherwise);
void read_options(int count, char **words);

int64_t now_ns(void);
static inline bool may_post(int64_t now) { return now < run.stop_at; }

bool is_measured(int64_t now);
void add_sample(struct samples *samples, int64_t nanos);
void print_percentiles(const char *name, struct samples *samples);
void note_posted(int64_t sent_at, int64_t now, long messages);
void note_received(int64_t posted_at, int64_t now);
int64_t find_stamp(const unsigned char *from, size_t length, const unsigned char **after);

enum { STAMP_DIGITS = 20 };
void write_digits(unsigned char *at, uint64_t value); /* STAMP_DIGITS digits, filled with zeros */
size_t find_all(const unsigned char *in, size_t length, const char *what, size_t **places);

void wait_for_go(void);
void start_clock(void);
void serve(struct peer *peer, void (*turn)(struct peer *)); /* takes a turn, and sends what it left */
void loop(struct peer **peers, size_t count, bool (*finished)(void));
void report(void);

#endif
