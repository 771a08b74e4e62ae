package duck

import (
	"github.com/apache/arrow-go/v18/arrow"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// typeNameKey is the field metadata that carries a column's SQL type.
const typeNameKey = "ARROW:FLIGHT:SQL:TYPE_NAME"

func (f frame) schema(c *Conn) (*arrow.Schema, error) {
	var options ddb.ArrowOptions
	ddb.ConnectionGetArrowOptions(c.raw, &options)
	defer ddb.DestroyArrowOptions(&options)
	s, ed := ddb.NewArrowSchema(options, f.types, f.names)
	defer ddb.DestroyErrorData(&ed)
	if ddb.ErrorDataHasError(ed) {
		return nil, c.db.fail(ddb.ErrorDataMessage(ed), "")
	}
	fields := s.Fields()
	for i := range fields {
		fields[i].Nullable = true
		fields[i].Metadata = arrow.NewMetadata([]string{typeNameKey}, []string{typeName(f.types[i])})
	}
	return arrow.NewSchema(fields, nil), nil
}
