/* A connection to a server, plain or TLS, with growing buffers for what came in and what goes out.
 *
 * Both load generators stand on this one file, so that neither server is held back by a slower client than the other's. */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <openssl/ssl.h>

struct bytes {
    unsigned char *at;
    size_t start, end, capacity; /* what is still to be used lies between start and end */
};

struct wire {
    int fd;
    SSL *tls; /* NULL: plain TCP */
    struct bytes in, out;
    bool waits_to_write;
};

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

unsigned char *bytes_room(struct bytes *bytes, size_t wanted);
void bytes_add(struct bytes *bytes, const void *data, size_t length);
static inline size_t bytes_length(const struct bytes *bytes) { return bytes->end - bytes->start; }
static inline unsigned char *bytes_head(const struct bytes *bytes) { return bytes->at + bytes->start; }
void bytes_use(struct bytes *bytes, size_t length);

void wire_connect(struct wire *wire, const char *host, int port, bool tls);
void wire_receive_at_least(struct wire *wire, size_t length); /* needs a wire that blocks; for handshakes */
void wire_set_blocking(struct wire *wire, bool blocking);
bool wire_receive(struct wire *wire); /* reads what is there; whether any came */
void wire_send(struct wire *wire);    /* writes what lies in out, or as much as goes */

#endif
