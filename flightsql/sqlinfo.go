package flightsql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"

	"github.com/vegadb/vega-flight/ducklake"
)

// Bits of the answers that are sets, by the numbers of their enumerations.
const (
	groupByUnrelated, groupByBeyondSelect        = 1 << 0, 1 << 1
	grammarMinimum, grammarCore, grammarExtended = 1 << 0, 1 << 1, 1 << 2
	ansiEntry, ansiIntermediate                  = 1 << 0, 1 << 1
	outerJoins, outerFull                        = 1 << 0, 1 << 2
	inComparisons, inExists, inIns, inQuantified = 1 << 0, 1 << 1, 1 << 2, 1 << 3
	unions, unionAll                             = 1 << 0, 1 << 1
	readCommitted, repeatableRead                = 2, 3
	resultForwardOnly                            = 1 << 1
	concurrencyReadOnly                          = 1 << 1
	unlimited                                    = int64(0)
)

// serverInfo are the answers that need no look at DuckDB. JDBC casts them, so
// sets are int32 and limits and ordinals are int64, whatever they hold.
func (s *Service) serverInfo() flightsql.SqlInfoResultMap {
	return flightsql.SqlInfoResultMap{
		uint32(flightsql.SqlInfoFlightSqlServerName):                        "vega-flight",
		uint32(flightsql.SqlInfoFlightSqlServerVersion):                     s.config.Version,
		uint32(flightsql.SqlInfoFlightSqlServerArrowVersion):                arrow.PkgVersion,
		uint32(flightsql.SqlInfoFlightSqlServerReadOnly):                    false,
		uint32(flightsql.SqlInfoFlightSqlServerSql):                         true,
		uint32(flightsql.SqlInfoFlightSqlServerSubstrait):                   false,
		uint32(flightsql.SqlInfoFlightSqlServerSubstraitMinVersion):         "",
		uint32(flightsql.SqlInfoFlightSqlServerSubstraitMaxVersion):         "",
		uint32(flightsql.SqlInfoFlightSqlServerTransaction):                 int32(flightsql.SqlTransactionTransaction),
		uint32(flightsql.SqlInfoFlightSqlServerCancel):                      true,
		uint32(flightsql.SqlInfoFlightSqlServerBulkIngestion):               true,
		uint32(flightsql.SqlInfoFlightSqlServerIngestTransactionsSupported): true,
		uint32(flightsql.SqlInfoFlightSqlServerStatementTimeout):            int32(0),
		uint32(flightsql.SqlInfoFlightSqlServerTransactionTimeout):          int32(min(s.limits.TransactionIdle/time.Millisecond, 1<<31-1)),

		uint32(flightsql.SqlInfoDDLCatalog):              false,
		uint32(flightsql.SqlInfoDDLSchema):               true,
		uint32(flightsql.SqlInfoDDLTable):                true,
		uint32(flightsql.SqlInfoIdentifierCase):          int64(flightsql.SqlCaseSensitivityCaseInsensitive),
		uint32(flightsql.SqlInfoIdentifierQuoteChar):     `"`,
		uint32(flightsql.SqlInfoQuotedIdentifierCase):    int64(flightsql.SqlCaseSensitivityCaseInsensitive),
		uint32(flightsql.SqlInfoAllTablesAreASelectable): true,
		uint32(flightsql.SqlInfoNullOrdering):            int64(flightsql.SqlNullOrderingSortAtEnd),
		uint32(flightsql.SqlInfoSystemFunctions): []string{
			"coalesce", "current_catalog", "current_schema", "current_setting", "current_user", "ifnull", "nullif", "version"},
		uint32(flightsql.SqlInfoSearchStringEscape): `\`,
		uint32(flightsql.SqlInfoExtraNameChars):     "$",

		uint32(flightsql.SqlInfoSupportsColumnAliasing):                 true,
		uint32(flightsql.SqlInfoNullPlusNullIsNull):                     true,
		uint32(flightsql.SqlInfoSupportsConvert):                        conversions(),
		uint32(flightsql.SqlInfoSupportsTableCorrelationNames):          true,
		uint32(flightsql.SqlInfoSupportsDifferentTableCorrelationNames): false,
		uint32(flightsql.SqlInfoSupportsExpressionsInOrderBy):           true,
		uint32(flightsql.SqlInfoSupportsOrderByUnrelated):               true,
		uint32(flightsql.SqlInfoSupportedGroupBy):                       int32(groupByUnrelated | groupByBeyondSelect),
		uint32(flightsql.SqlInfoSupportsLikeEscapeClause):               true,
		uint32(flightsql.SqlInfoSupportsNonNullableColumns):             true,
		uint32(flightsql.SqlInfoSupportedGrammar):                       int32(grammarMinimum | grammarCore | grammarExtended),
		uint32(flightsql.SqlInfoANSI92SupportedLevel):                   int32(ansiEntry | ansiIntermediate),
		uint32(flightsql.SqlInfoSupportsIntegrityEnhancementFacility):   false,
		uint32(flightsql.SqlInfoOuterJoinsSupportLevel):                 int32(outerJoins | outerFull),
		uint32(flightsql.SqlInfoSchemaTerm):                             "schema",
		uint32(flightsql.SqlInfoProcedureTerm):                          "",
		uint32(flightsql.SqlInfoCatalogTerm):                            "lake",
		uint32(flightsql.SqlInfoCatalogAtStart):                         true,
		uint32(flightsql.SqlInfoSchemasSupportedActions):                int32(0),
		uint32(flightsql.SqlInfoCatalogsSupportedActions):               int32(0),
		uint32(flightsql.SqlInfoSupportedPositionedCommands):            int32(0),
		uint32(flightsql.SqlInfoSelectForUpdateSupported):               false,
		uint32(flightsql.SqlInfoStoredProceduresSupported):              false,
		uint32(flightsql.SqlInfoSupportedSubqueries):                    int32(inComparisons | inExists | inIns | inQuantified),
		uint32(flightsql.SqlInfoCorrelatedSubqueriesSupported):          true,
		uint32(flightsql.SqlInfoSupportedUnions):                        int32(unions | unionAll),

		uint32(flightsql.SqlInfoMaxBinaryLiteralLen):     unlimited,
		uint32(flightsql.SqlInfoMaxCharLiteralLen):       unlimited,
		uint32(flightsql.SqlInfoMaxColumnNameLen):        unlimited,
		uint32(flightsql.SqlInfoMaxColumnsInGroupBy):     unlimited,
		uint32(flightsql.SqlInfoMaxColumnsInIndex):       unlimited,
		uint32(flightsql.SqlInfoMaxColumnsInOrderBy):     unlimited,
		uint32(flightsql.SqlInfoMaxColumnsInSelect):      unlimited,
		uint32(flightsql.SqlInfoMaxColumnsInTable):       unlimited,
		uint32(flightsql.SqlInfoMaxConnections):          int64(s.limits.SessionsPerUser),
		uint32(flightsql.SqlInfoMaxCursorNameLen):        unlimited,
		uint32(flightsql.SqlInfoMaxIndexLen):             unlimited,
		uint32(flightsql.SqlInfoDBSchemaNameLen):         unlimited,
		uint32(flightsql.SqlInfoMaxProcedureNameLen):     unlimited,
		uint32(flightsql.SqlInfoMaxCatalogNameLen):       unlimited,
		uint32(flightsql.SqlInfoMaxRowSize):              unlimited,
		uint32(flightsql.SqlInfoMaxRowSizeIncludesBlobs): true,
		uint32(flightsql.SqlInfoMaxStatementLen):         unlimited,
		uint32(flightsql.SqlInfoMaxStatements):           int64(s.limits.Prepared),
		uint32(flightsql.SqlInfoMaxTableNameLen):         unlimited,
		uint32(flightsql.SqlInfoMaxTablesInSelect):       unlimited,
		uint32(flightsql.SqlInfoMaxUsernameLen):          unlimited,

		uint32(flightsql.SqlInfoDefaultTransactionIsolation):                         int64(readCommitted),
		uint32(flightsql.SqlInfoTransactionsSupported):                               true,
		uint32(flightsql.SqlInfoSupportedTransactionsIsolationlevels):                int32(1<<readCommitted | 1<<repeatableRead),
		uint32(flightsql.SqlInfoDataDefinitionCausesTransactionCommit):               false,
		uint32(flightsql.SqlInfoDataDefinitionsInTransactionsIgnored):                false,
		uint32(flightsql.SqlInfoSupportedResultSetTypes):                             int32(resultForwardOnly),
		uint32(flightsql.SqlInfoSupportedConcurrenciesForResultSetUnspecified):       int32(0),
		uint32(flightsql.SqlInfoSupportedConcurrenciesForResultSetForwardOnly):       int32(concurrencyReadOnly),
		uint32(flightsql.SqlInfoSupportedConcurrenciesForResultSetScrollSensitive):   int32(0),
		uint32(flightsql.SqlInfoSupportedConcurrenciesForResultSetScrollInsensitive): int32(0),
		uint32(flightsql.SqlInfoBatchUpdatesSupported):                               true,
		uint32(flightsql.SqlInfoSavePointsSupported):                                 false,
		uint32(flightsql.SqlInfoNamedParametersSupported):                            false,
		uint32(flightsql.SqlInfoLocatorsUpdateCopy):                                  false,
		uint32(flightsql.SqlInfoStoredFunctionsUsingCallSyntaxSupported):             false,
	}
}

// conversions says which types CAST takes to which.
func conversions() map[int32][]int32 {
	numbers := []int32{
		int32(flightsql.SqlConvertTinyInt), int32(flightsql.SqlConvertSmallInt), int32(flightsql.SqlConvertInteger), int32(flightsql.SqlConvertBigInt),
		int32(flightsql.SqlConvertReal), int32(flightsql.SqlConvertFloat), int32(flightsql.SqlConvertDecimal), int32(flightsql.SqlConvertNumeric),
		int32(flightsql.SqlConvertBit),
	}
	texts := []int32{int32(flightsql.SqlConvertChar), int32(flightsql.SqlConvertVarchar), int32(flightsql.SqlConvertLongVarchar)}
	bytes := []int32{int32(flightsql.SqlConvertBinary), int32(flightsql.SqlConvertVarbinary), int32(flightsql.SqlConvertLongVarbinary)}
	date, clock, stamp := int32(flightsql.SqlConvertDate), int32(flightsql.SqlConvertTime), int32(flightsql.SqlConvertTimestamp)

	to := map[int32][]int32{}
	for _, n := range numbers {
		to[n] = slices.Concat(numbers, texts)
	}
	for _, t := range texts {
		to[t] = slices.Concat(numbers, texts, bytes, []int32{date, clock, stamp})
	}
	for _, b := range bytes {
		to[b] = slices.Concat(texts, bytes)
	}
	to[date] = slices.Concat(texts, []int32{date, stamp})
	to[clock] = slices.Concat(texts, []int32{clock})
	to[stamp] = slices.Concat(texts, []int32{date, clock, stamp})
	return to
}

// duckInfo are the answers that DuckDB knows better.
var duckInfo = map[flightsql.SqlInfo]string{
	flightsql.SqlInfoKeywords: `SELECT DISTINCT upper(keyword_name) FROM duckdb_keywords() ORDER BY 1`,
	flightsql.SqlInfoNumericFunctions: `SELECT DISTINCT function_name FROM duckdb_functions()
		WHERE function_type = 'scalar' AND regexp_matches(function_name, '^[a-z][a-z0-9_]*$') AND parameter_types[1] IN ('DOUBLE', 'FLOAT', 'HUGEINT')
		AND return_type IN ('DOUBLE', 'FLOAT', 'HUGEINT', 'BIGINT', 'TINYINT') ORDER BY 1`,
	flightsql.SqlInfoStringFunctions: `SELECT DISTINCT function_name FROM duckdb_functions()
		WHERE function_type = 'scalar' AND regexp_matches(function_name, '^[a-z][a-z0-9_]*$') AND parameter_types[1] = 'VARCHAR'
		AND return_type IN ('VARCHAR', 'BIGINT', 'BOOLEAN', 'VARCHAR[]') ORDER BY 1`,
	flightsql.SqlInfoDateTimeFunctions: `SELECT DISTINCT function_name FROM duckdb_functions()
		WHERE function_type = 'scalar' AND regexp_matches(function_name, '^[a-z][a-z0-9_]*$')
		AND (return_type IN ('DATE', 'TIME', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE') OR list_has_any(parameter_types, ['DATE', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE'])) ORDER BY 1`,
}

// registerInfo fills the base server's answers.
func (s *Service) registerInfo(ctx context.Context) error {
	answers := s.serverInfo()
	conn, release, err := s.lake.Acquire(ctx, ducklake.Aside(""))
	if err != nil {
		return err
	}
	defer release()
	for id, query := range duckInfo {
		rows, err := conn.Rows(ctx, query)
		if err != nil {
			return err
		}
		names := make([]string, len(rows))
		for i, row := range rows {
			names[i] = row[0].(string)
		}
		answers[uint32(id)] = names
	}
	for id, answer := range answers {
		if err := s.RegisterSqlInfo(flightsql.SqlInfo(id), answer); err != nil {
			return fmt.Errorf("server information %d: %w", id, err)
		}
	}
	s.infos = slices.Sorted(maps.Keys(answers))
	return nil
}

// someInfo is a request for certain answers.
type someInfo []uint32

// GetInfo lists them.
func (i someInfo) GetInfo() []uint32 { return i }

// DoGetSqlInfo gives the answers asked for, or all. An unknown number has no
// answer; it does not spoil the others, as clients ask for more than they need.
func (s *Service) DoGetSqlInfo(ctx context.Context, cmd flightsql.GetSqlInfo) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	asked := someInfo(s.infos)
	if want := cmd.GetInfo(); len(want) > 0 {
		asked = nil
		for _, id := range want {
			if _, known := slices.BinarySearch(s.infos, id); known {
				asked = append(asked, id)
			}
		}
		if len(asked) == 0 {
			return s.list(ctx, s.empty(schema_ref.SqlInfo))
		}
	}
	return s.BaseServer.DoGetSqlInfo(ctx, asked)
}
