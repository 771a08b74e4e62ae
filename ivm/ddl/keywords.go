package ddl

import "strings"

// Keywords of DuckDB 1.5.5 by the places where they cannot stand as a bare
// name (duckdb_keywords()). Words it calls unreserved are not listed.
const (
	reservedWords = `
	all analyse analyze and any array as asc asymmetric both case cast check collate column constraint
	create default deferrable desc describe distinct do else end except false fetch for foreign from
	group having in initially intersect into lambda lateral leading limit not null offset on only or
	order pivot pivot_longer pivot_wider placing primary qualify references returning select show some
	summarize symmetric table then to trailing true union unique unpivot using variadic when where
	window with`
	// refused as the name of a table, allowed as the name of a function or type
	typeFunctionWords = `
	anti asof at authorization binary by collation columns concurrently cross freeze full generated
	glob ilike inner is isnull join left like map natural notnull outer overlaps positional right semi
	similar struct tablesample try_cast unpack verbose`
	// allowed as a name; printed with quotes all the same
	columnNameWords = `
	between bigint bit boolean char character coalesce dec decimal exists extract float grouping
	grouping_id inout int integer interval national nchar none nullif numeric out overlay position
	precision real row setof smallint substring time timestamp treat trim values varchar xmlattributes
	xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`
)

var (
	keywords      = map[string]bool{} // all of the above: printed with quotes
	nameForbidden = map[string]bool{} // not accepted as a bare name
)

func init() {
	for _, w := range strings.Fields(reservedWords + typeFunctionWords) {
		keywords[w], nameForbidden[w] = true, true
	}
	for _, w := range strings.Fields(columnNameWords) {
		keywords[w] = true
	}
}
