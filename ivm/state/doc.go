// Package state is what operators remember: keys with a payload and an ordered
// multiset of entries.
//
// Read [Table] first.
package state
