package flightsql

import (
	"errors"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
)

// duckTypes maps DuckDB's error classes that always mean one thing.
var duckTypes = map[string]*fault.Code{
	"Parser":                  fault.SyntaxError,
	"Syntax":                  fault.SyntaxError,
	"Binder":                  fault.SQLError,
	"Conversion":              fault.SQLError,
	"Constraint":              fault.SQLError,
	"Out of Range":            fault.SQLError,
	"Invalid Input":           fault.SQLError,
	"Mismatch Type":           fault.SQLError,
	"Invalid type":            fault.SQLError,
	"Divide by Zero":          fault.SQLError,
	"Decimal":                 fault.SQLError,
	"Expression":              fault.SQLError,
	"Executor":                fault.SQLError,
	"Sequence":                fault.SQLError,
	"Settings":                fault.SQLError,
	"Invalid Configuration":   fault.SQLError,
	"Dependency":              fault.SQLError,
	"Parameter Not Resolved":  fault.SQLError,
	"Parameter Not Allowed":   fault.SQLError,
	"Missing Extension":       fault.ExtensionMissing,
	"Extension Autoloading":   fault.ExtensionMissing,
	"Permission":              fault.StatementForbidden,
	"Not implemented":         fault.SQLError,
	"Out of Memory":           fault.MemoryExhausted,
	"Interrupt":               fault.Cancelled,
	"Serialization":           fault.SQLError,
	"Stack":                   fault.SQLError,
	"Object Size":             fault.SQLError,
	"Unhandled Unknown type!": fault.SQLError,
}

// classifyDuckDB names an error of DuckDB; nil for any other.
func classifyDuckDB(err error) *fault.Error {
	var d *duck.Error
	if !errors.As(err, &d) {
		return nil
	}
	f := duckCode(d).Newf("%s", d.Message)
	if d.Position >= 0 {
		f = f.At(d.Position)
	}
	return f
}

// duckCode decides by class and, where a class means several things, by text.
func duckCode(d *duck.Error) *fault.Code {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(strings.ToLower(d.Message), p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("no space left on device", "disk quota exceeded", "file too large", "max_temp_directory_size"):
		return fault.DiskFull
	case has("could not allocate", "failed to allocate", "out of memory"):
		return fault.MemoryExhausted
	case has("transaction conflict", "conflict on", "write-write conflict", "failed to commit ducklake transaction"):
		return fault.CommitConflict
	case has("current transaction is aborted"):
		return fault.TransactionFailed
	}
	switch d.Type {
	case "Catalog", "Binder":
		switch {
		case d.Type == "Catalog" && has("already exists"):
			return fault.ObjectExists
		case has("does not exist", "not found in from clause"), d.Type == "Catalog" && has("not found"):
			return fault.ObjectNotFound
		}
		return fault.SQLError
	case "TransactionContext":
		if has("conflict") {
			return fault.CommitConflict
		}
		return fault.SQLError
	case "IO", "HTTP", "Connection", "Network":
		if has("unable to connect", "could not connect", "connection refused", "server closed the connection", "terminating connection") {
			return fault.CatalogGone
		}
		return fault.LakeUnreadable
	}
	if code := duckTypes[d.Type]; code != nil {
		return code
	}
	return fault.InternalError // INTERNAL, FATAL and what nobody knows yet
}
