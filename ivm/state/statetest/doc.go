// Package statetest is what every backing of state.Table must do: random
// histories of many shapes, beside a model of Go maps.
//
// [Run] is the suite. [Model] is also used by itself, by tests of what one
// backing does beyond it: it is driven together with a table ([Model.Drive],
// [Model.Load]) and compares all that can be asked of a table ([Model.Check]).
package statetest
