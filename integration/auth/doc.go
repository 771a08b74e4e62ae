// Package auth logs in to the real server with Python's clients: pyarrow's two
// handshakes, ADBC with a password, tokens and API keys, and TLS with the
// certificate that the server made for itself.
package auth
