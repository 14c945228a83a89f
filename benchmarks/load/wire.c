#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 256 * 1024 };

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

unsigned char *bytes_room(struct bytes *bytes, size_t wanted) {
    if (bytes->start && bytes->capacity - bytes->end < wanted) {
        memmove(bytes->at, bytes->at + bytes->start, bytes_length(bytes));
        bytes->end -= bytes->start;
        bytes->start = 0;
    }
    if (bytes->capacity - bytes->end < wanted) {
        bytes->capacity = 2 * (bytes->end + wanted);
        bytes->at = realloc(bytes->at, bytes->capacity);
        if (!bytes->at) die("out of memory");
    }
    return bytes->at + bytes->end;
}

void bytes_add(struct bytes *bytes, const void *data, size_t length) {
    memcpy(bytes_room(bytes, length), data, length);
    bytes->end += length;
}

void bytes_use(struct bytes *bytes, size_t length) {
    bytes->start += length;
    if (bytes->start == bytes->end) bytes->start = bytes->end = 0;
}

static SSL *tls_over(int fd) {
    static SSL_CTX *context;
    if (!context) {
        context = SSL_CTX_new(TLS_client_method()); /* the certificate is not checked: it was made for this run */
        if (!context) die("TLS cannot be set up");
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    SSL *tls = SSL_new(context);
    if (!tls || SSL_set_fd(tls, fd) != 1 || SSL_connect(tls) != 1) {
        ERR_print_errors_fp(stderr);
        die("the TLS handshake failed");
    }
    return tls;
}

void wire_connect(struct wire *wire, const char *host, int port, bool tls) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int yes = 1;
    memset(wire, 0, sizeof *wire);
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) die("%s is not an IPv4 address", host);
    wire->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (wire->fd < 0 || connect(wire->fd, (struct sockaddr *)&address, sizeof address)) die("cannot connect to port %d", port);
    setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (tls) wire->tls = tls_over(wire->fd);
}

static ssize_t read_some(struct wire *wire, void *into, size_t most) {
    if (!wire->tls) return recv(wire->fd, into, most, 0);
    int got = SSL_read(wire->tls, into, (int)most);
    if (got > 0) return got;
    int error = SSL_get_error(wire->tls, got);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) errno = EAGAIN;
    return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static ssize_t write_some(struct wire *wire, const void *from, size_t most) {
    if (!wire->tls) return send(wire->fd, from, most, MSG_NOSIGNAL);
    int put = SSL_write(wire->tls, from, (int)most);
    if (put > 0) return put;
    int error = SSL_get_error(wire->tls, put);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) errno = EAGAIN;
    return -1;
}

void wire_receive_at_least(struct wire *wire, size_t length) {
    while (bytes_length(&wire->in) < length) {
        ssize_t got = read_some(wire, bytes_room(&wire->in, READ_SIZE), READ_SIZE);
        if (got <= 0) die("the server closed the connection");
        wire->in.end += (size_t)got;
    }
}

void wire_set_blocking(struct wire *wire, bool blocking) {
    int flags = fcntl(wire->fd, F_GETFL);
    fcntl(wire->fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

bool wire_receive(struct wire *wire) {
    bool any = false;
    for (;;) {
        ssize_t got = read_some(wire, bytes_room(&wire->in, READ_SIZE), READ_SIZE);
        if (got == 0) die("the server closed the connection");
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return any;
        if (got < 0) die("reading failed: %s", strerror(errno));
        wire->in.end += (size_t)got;
        any = true;
        if (!wire->tls && got < READ_SIZE) return true; /* saves the call that would only say EAGAIN */
    }
}

void wire_send(struct wire *wire) {
    wire->waits_to_write = false;
    while (bytes_length(&wire->out)) {
        ssize_t put = write_some(wire, bytes_head(&wire->out), bytes_length(&wire->out));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) {
            wire->waits_to_write = true;
            return;
        }
        if (put <= 0) die("writing failed: %s", strerror(errno));
        bytes_use(&wire->out, (size_t)put);
    }
}
