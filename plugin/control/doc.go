// Package control is the protocol between a host and its sidecar: control.proto and the code made from it.
//
// Read control.proto. Names and numbers in it are kept for ever; what is new gets new numbers. `make proto` makes the code again.
// The package must not know what a lake is.
package control
