// Package sidecar tests vega-flight as a host's sidecar: the real binary, launched through package plugin.
//
// Read house_test.go first. The package must not know the insides of either side.
package sidecar
