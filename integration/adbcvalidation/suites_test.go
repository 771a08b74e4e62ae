package adbcvalidation

import (
	"errors"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/validation"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/suite"
	"go.uber.org/goleak"

	"github.com/vegadb/vega-flight/integration/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuites(t *testing.T) {
	q := &quirks{t: t, server: process.Start(t, process.Options{Lake: t.TempDir()})}
	suite.Run(t, &validation.DatabaseTests{Quirks: q})
	suite.Run(t, &validation.ConnectionTests{Quirks: q})
	suite.Run(t, &statements{validation.StatementTests{Quirks: q}})
}

// statements is the suite of statements but for what is replaced below.
type statements struct{ validation.StatementTests }

// TestSqlIngestErrors replaces the test of that name, which asks for two things
// that cannot be: a SQLSTATE, which the driver has no way to learn from a
// Flight server, and INTERNAL for a table that exists, where the protocol has
// ALREADY_EXISTS.
func (s *statements) TestSqlIngestErrors() {
	s.empty()
	st, err := s.Cnxn.NewStatement()
	s.Require().NoError(err)
	defer validation.CheckedClose(s.T(), st)
	s.Require().NoError(st.SetOption(adbc.OptionKeyIngestTargetTable, ingested))
	_, _, err = st.ExecuteQuery(s.T().Context())
	s.Equal(adbc.StatusInvalidState, status(err), "ingest without rows")

	s.Equal(adbc.StatusNotFound, status(s.load(adbc.OptionValueIngestModeAppend, s.rows("int64s", 1))), "append to a missing table")
	s.NoError(s.load(adbc.OptionValueIngestModeCreate, s.rows("int64s", 1)))
	s.Equal(adbc.StatusAlreadyExists, status(s.load(adbc.OptionValueIngestModeCreate, s.rows("int64s", 1))), "create again")
	s.Equal(adbc.StatusInvalidArgument, status(s.load(adbc.OptionValueIngestModeAppend, s.rows("coltwo", 1))), "append other columns")
}

// The suite's four tests of ingested rows go on with the statement that loaded
// them. The driver (1.12.0) then refuses every query, whatever the server: the
// rows stay bound. They are replaced by tests that query with another one.

func (s *statements) TestSqlIngestInts() {
	s.empty()
	s.Require().NoError(s.load("", s.rows("int64s", 42, -42)))
	s.Equal([]int64{42, -42}, s.ingested("int64s"))
}

func (s *statements) TestSqlIngestAppend() {
	s.empty()
	s.Require().NoError(s.load("", s.rows("int64s", 42)))
	s.Require().NoError(s.load(adbc.OptionValueIngestModeAppend, s.rows("int64s", -42, 0)))
	s.Equal([]int64{42, 0, -42}, s.ingested("int64s"))
}

func (s *statements) TestSqlIngestReplace() {
	s.empty()
	s.Require().NoError(s.load("", s.rows("int64s", 42)))
	s.Require().NoError(s.load(adbc.OptionValueIngestModeReplace, s.rows("newintcol", 7)))
	s.Equal([]int64{7}, s.ingested("newintcol"))
}

func (s *statements) TestSqlIngestCreateAppend() {
	s.empty()
	s.Require().NoError(s.load(adbc.OptionValueIngestModeCreateAppend, s.rows("int64s", 42)))
	s.Require().NoError(s.load(adbc.OptionValueIngestModeCreateAppend, s.rows("int64s", 42)))
	s.Equal([]int64{42, 42}, s.ingested("int64s"))
}

const ingested = "bulk_ingest"

func (s *statements) empty() { s.Require().NoError(s.Quirks.DropTable(s.Cnxn, ingested)) }

func (s *statements) rows(name string, values ...int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(s.Quirks.Alloc(), arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues(values, nil)
	return b.NewRecordBatch()
}

// load ingests rows with a statement of its own; mode "" is the driver's default.
func (s *statements) load(mode string, rows arrow.RecordBatch) error {
	st, err := s.Cnxn.NewStatement()
	s.Require().NoError(err)
	defer validation.CheckedClose(s.T(), st)
	s.Require().NoError(st.SetOption(adbc.OptionKeyIngestTargetTable, ingested))
	if mode != "" {
		s.Require().NoError(st.SetOption(adbc.OptionKeyIngestMode, mode))
	}
	s.Require().NoError(st.Bind(s.T().Context(), rows))
	n, err := st.ExecuteUpdate(s.T().Context())
	if err == nil {
		s.Equal(rows.NumRows(), n)
	}
	return err
}

// ingested is the table's one column, largest first.
func (s *statements) ingested(column string) []int64 {
	st, err := s.Cnxn.NewStatement()
	s.Require().NoError(err)
	defer validation.CheckedClose(s.T(), st)
	s.Require().NoError(st.SetSqlQuery("SELECT * FROM " + ingested + " ORDER BY " + column + " DESC"))
	r, _, err := st.ExecuteQuery(s.T().Context())
	s.Require().NoError(err)
	defer r.Release()
	s.Equal(column, r.Schema().Field(0).Name)
	s.Len(r.Schema().Fields(), 1)
	var out []int64
	for r.Next() {
		out = append(out, r.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	s.NoError(r.Err())
	return out
}

func status(err error) adbc.Status {
	var e adbc.Error
	if !errors.As(err, &e) {
		return adbc.StatusOK
	}
	return e.Code
}
