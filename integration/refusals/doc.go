// Package refusals does everything wrong that users, operators and machines
// do: wrong statements, other people's objects, handles that are over, a full
// disk, broken lakes, taken addresses, garbage on the wire. Each gets its
// stable name, or a clean end of the process with one line; nothing is half
// done afterwards, and the server lives on.
package refusals
