package types_test

import "strings"

// sample is a type with edge values, as SQL.
type sample struct {
	typ    string
	values []string
}

// literals are values written as texts, and NULL.
func literals(typ string, texts ...string) sample {
	s := sample{typ: typ}
	for _, x := range texts {
		s.values = append(s.values, "'"+strings.ReplaceAll(x, "'", "''")+"'::"+typ)
	}
	s.values = append(s.values, "NULL")
	return s
}

// exprs are values written as expressions, and NULL.
func exprs(typ string, values ...string) sample { return sample{typ, append(values, "NULL")} }

const max38 = "99999999999999999999999999999999999999"

var samples = []sample{
	literals("BOOLEAN", "true", "false"),
	literals("TINYINT", "-128", "0", "127"),
	literals("SMALLINT", "-32768", "32767"),
	literals("INTEGER", "-2147483648", "2147483647"),
	literals("BIGINT", "-9223372036854775808", "-9007199254740993", "9007199254740993", "9223372036854775807"),
	literals("UTINYINT", "0", "255"),
	literals("USMALLINT", "0", "65535"),
	literals("UINTEGER", "0", "4294967295"),
	literals("UBIGINT", "0", "9007199254740993", "9223372036854775808", "18446744073709551615"),
	literals("HUGEINT", "0", "9007199254740993", max38, "-"+max38),
	literals("UHUGEINT", "0", "9007199254740993", max38),
	literals("BIGNUM", "0", "-123456789012345678901234567890123456789012345678901234567890"),
	literals("DECIMAL(1,0)", "-9", "0", "9"),
	literals("DECIMAL(4,2)", "-99.99", "0.01"),
	literals("DECIMAL(9,9)", "-0.999999999", "0.000000001"),
	literals("DECIMAL(18,3)", "-999999999999999.999", "0.001"),
	literals("DECIMAL(38,0)", "-"+max38, "9007199254740993", max38),
	literals("DECIMAL(38,38)", "-0."+max38, "0.00000000000000000000000000000000000001"),
	literals("FLOAT", "0", "-0.0", "1.1", "-3.4028235e38", "3.4028235e38", "7.337741e-05", "1e-45", "inf", "-inf", "nan"),
	literals("DOUBLE", "0", "-0.0", "0.1", "-0.11049315628702099", "-1.7976931348623157e308", "1.7976931348623157e308", "5e-324", "inf", "-inf", "nan"),
	exprs("VARCHAR", "''", "' '", "'NULL'", "'null'", "'it''s'", `'"quoted"'`, `'back\slash'`, "'[a, b]'", "'nul' || chr(0) || 'byte'",
		"'line' || chr(10) || chr(13) || chr(9)", "'🦆 ünïcode'", "repeat('long ', 5000)", "chr(1) || chr(127)", "'{'", `'\x41'`),
	exprs("BLOB", "''::BLOB", `'\x00'::BLOB`, `'\xFF\xFE\x00A'::BLOB`, "'plain'::BLOB", `'\x5Cx41'::BLOB`, "'it''s'::BLOB", "repeat('long', 5000)::BLOB", `'\x22\x27\x5C\x2C'::BLOB`),
	literals("UUID", "00000000-0000-0000-0000-000000000000", "80000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
	exprs("JSON", "'null'::JSON", `'{"a": [1,  2], "b": null}'::JSON`, `'"text"'::JSON`, "'1.0'::JSON", `'[]'::JSON`, `'{"k": "it''s \" \\ \u00e9"}'::JSON`),
	literals("BIT", "0", "10101", "000000001"),
	literals("ENUM('a', 'it''s', ')')", "a", "it's", ")"),
	literals("DATE", "1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "290309-12-22 (BC)", "5881580-07-10", "infinity", "-infinity", "1582-10-10"),
	literals("TIME", "00:00:00", "23:59:59.999999", "24:00:00", "12:34:56.000001"),
	literals("TIME_NS", "00:00:00", "23:59:59.999999999"),
	literals("TIMETZ", "00:00:00+00", "12:00:00+05:30", "23:59:59.999999-15:59:59"),
	literals("TIMESTAMP", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56.000001", "290309-12-22 (BC) 00:00:00",
		"294247-01-10 04:00:54.775806", "infinity", "-infinity", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
	literals("TIMESTAMPTZ", "1970-01-01 00:00:00+00", "1969-12-31 23:59:59.999999+00", "2024-02-29 12:34:56.000001+02", "290309-12-22 (BC) 00:00:00+00",
		"294247-01-10 04:00:54.775806+00", "infinity", "-infinity"),
	literals("TIMESTAMP_S", "1970-01-01 00:00:00", "1969-12-31 23:59:59", "2024-02-29 12:34:56", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54", "infinity", "-infinity"),
	literals("TIMESTAMP_MS", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999", "2024-02-29 12:34:56.001", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775", "infinity", "-infinity"),
	literals("TIMESTAMP_NS", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999999", "2024-02-29 12:34:56.000000001", "1677-09-22 00:00:00", "2262-04-11 23:47:16.854775806", "infinity", "-infinity"),
	literals("INTERVAL", "0 days", "1 month", "30 days", "1 year 2 months 3 days 04:05:06.789", "00:00:00.000001", "-1 day", "-3 months 1 day -00:00:01"),
	exprs("INTERVAL[]", "[INTERVAL '1 month', INTERVAL '00:00:00.000001']"),
	exprs("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': NULL}", "{'a': 2, 'b': ''}", "{'a': 3, 'b': 'NULL'}", "{'a': 4, 'b': 'it''s, \"quoted\" {b: 1}'}"),
	exprs(`STRUCT("a b" INTEGER, "select" VARCHAR, "it's" DOUBLE, "C" BOOLEAN, "q""q" DATE)`, `{'a b': 1, 'select': 'x', 'it''s': 1.5, 'C': true, 'q"q': '2020-01-02'}`),
	exprs("INTEGER[]", "[]", "[NULL]", "[1, NULL, 3]", "[-2147483648]"),
	exprs("INTEGER[][]", "[[]]", "[NULL, [], [1, NULL]]"),
	exprs("VARCHAR[]", "['']", "['NULL', NULL, 'null']", "['a, b', '[c]', 'it''s', '\"', '{', '\\']", "[' x ', chr(10), chr(9) || 'tab']", "['🦆', 'nul' || chr(0)]", "['back\\slash', 'quote''and\\']"),
	exprs("BLOB[]", `['\x00\xFF'::BLOB, ''::BLOB, 'plain'::BLOB, '\x5Cx41'::BLOB, 'it''s, "'::BLOB]`),
	exprs("DOUBLE[]", "['nan'::DOUBLE, 'inf', '-inf', -0.0, 0.1, 5e-324, 1.7976931348623157e308]"),
	exprs("FLOAT[]", "['nan'::FLOAT, 'inf', '-inf', -0.0, 1.1, 3.4028235e38]"),
	exprs("UBIGINT[]", "[18446744073709551615, 0]"),
	exprs("DECIMAL(38,10)[]", "[0.0000000001, -9999999999999999999999999999.9999999999]"),
	exprs("TIMESTAMPTZ[]", "['2024-02-29 12:34:56.000001+02'::TIMESTAMPTZ, 'infinity', NULL]"),
	exprs("TIMESTAMP_NS[]", "['2024-02-29 12:34:56.000000001'::TIMESTAMP_NS]"),
	exprs("DATE[]", "['infinity'::DATE, '0001-01-01', '290309-12-22 (BC)']"),
	exprs("TIME[]", "['24:00:00'::TIME, '12:34:56.000001']"),
	exprs("JSON[]", `['{"a": [1,  "x, y"]}'::JSON, 'null'::JSON, NULL]`),
	exprs("UUID[]", "['80000000-0000-0000-0000-000000000000'::UUID]"),
	exprs("BOOLEAN[]", "[true, false, NULL]"),
	exprs("HUGEINT[]", "[9007199254740993::HUGEINT]"),
	exprs("STRUCT(h HUGEINT)", "{'h': 9007199254740993::HUGEINT}"),
	exprs("MAP(HUGEINT, HUGEINT)", "MAP {9007199254740993::HUGEINT: 9007199254740993::HUGEINT}"),
	exprs("TIMETZ[]", "['12:00:00+05:30'::TIMETZ]"),
	exprs("TIME_NS[]", "['12:00:00.000000001'::TIME_NS]"),
	exprs("TIMESTAMP_S[]", "['infinity'::TIMESTAMP_S]"),
	exprs("MAP(VARCHAR, INTEGER)", "MAP {}", "MAP {'': NULL}", "MAP {'a=b': 1, 'it''s, {x}': 2, '\"': 3, 'NULL': 4}"),
	exprs("MAP(INTEGER, VARCHAR[])", "MAP {1: ['a', NULL], 2: NULL, 3: []}"),
	exprs("MAP(DATE, STRUCT(a BLOB))", `MAP {'infinity'::DATE: {'a': '\x00'::BLOB}}`),
	exprs("STRUCT(a INTEGER, b VARCHAR[])[]", "[]", "[NULL, {'a': 1, 'b': ['x, y', NULL]}, {'a': NULL, 'b': NULL}, {'a': 2, 'b': []}]"),
	exprs("STRUCT(a STRUCT(b STRUCT(c TIMESTAMPTZ, d DOUBLE)))", "{'a': {'b': {'c': '2024-02-29 12:34:56.000001+02', 'd': 'nan'}}}", "{'a': {'b': NULL}}", "{'a': NULL}"),
	exprs("INTEGER[3]", "[1, NULL, 3]"),
	exprs("STRUCT(a INTEGER[3][2])", "{'a': [[1, NULL, 3], NULL]}"),
	exprs("UNION(n INTEGER, s VARCHAR)", "union_value(n := 1)", "union_value(s := 'x')"),
	exprs("GEOMETRY", "'POINT (1 2)'::GEOMETRY", "'POINT EMPTY'::GEOMETRY", "'GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (0 0, 1 1))'::GEOMETRY"),
	exprs("GEOMETRY[]", "['POINT (1 2)'::GEOMETRY]"),
	exprs("VARIANT", "1::VARIANT", "INTERVAL '1 month'::VARIANT"),
}
