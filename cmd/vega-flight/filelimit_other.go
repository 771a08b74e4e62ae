//go:build !unix

package main

func bearFileLimit() {}
