#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/ssl.h>

// A macro over there.
static inline void openssl_accept_moving_buffer(SSL *session) {
    SSL_set_mode(session, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}
