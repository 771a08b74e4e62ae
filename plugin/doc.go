// Package plugin makes vega-flight the sidecar of a host program, by hashicorp/go-plugin: the host launches the binary, both prove to each
// other by certificates made for this one run, and the host speaks Flight SQL over one socket.
//
// A host reads [Start] and [Supervisor]; examplehost is one. The sidecar's side is [Serve].
//
//	host                                     sidecar
//	Supervisor ─▶ Start ── launch, mTLS ──▶  Serve ─▶ Open (the lake)
//	Sidecar.Conn ──────── Flight SQL ─────▶  late.go ─▶ Service.Edge
//	Sidecar.control ────── control ───────▶  state.go: waiting → opening → serving → draining → drained
//
// Invariants:
//
//   - Before a lake is configured, Flight SQL is answered NOT_CONFIGURED; the socket and health are there at once.
//   - A sidecar whose host is gone drains and ends; so does one that is told to by SIGTERM. SIGINT is the host's affair.
//   - Ended in order, every streaming view has a checkpoint and every job its row; killed, the next sidecar goes on from what is durable.
//   - Standard output belongs to go-plugin; the log goes to standard error as lines that go-plugin gives to the host's logger.
//
// The package links neither DuckDB nor the server, so that hosts need no C compiler. It must not know what a lake is.
package plugin
