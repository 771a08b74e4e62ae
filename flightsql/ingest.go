package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/fault"
)

// The protocol's choices for a table that is there and one that is not.
const (
	ifNotExistUnspecified = pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_UNSPECIFIED
	ifNotExistCreate      = pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE
	ifNotExistFail        = pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_FAIL
	ifExistsUnspecified   = pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_UNSPECIFIED
	ifExistsFail          = pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_FAIL
	ifExistsAppend        = pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND
	ifExistsReplace       = pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE
)

// DoPutCommandStatementIngest loads the rows that come into a table. Either all
// of them are there afterwards or none. Without an id it is part of the
// session's own open transaction, as clients that begin one send none here.
func (s *Service) DoPutCommandStatementIngest(ctx context.Context, cmd flightsql.StatementIngest, r flight.MessageReader) (int64, error) {
	sess, err := s.session(ctx)
	if err != nil {
		return 0, err
	}
	defer sess.done()
	ctx, stop := sess.within(ctx)
	defer stop()
	rec := s.record(sess, "INGEST", "INGEST INTO "+cmd.GetTable())
	n, err := s.ingest(ctx, sess, cmd, r)
	rec.end(err, n)
	return n, err
}

func (s *Service) ingest(ctx context.Context, sess *session, cmd flightsql.StatementIngest, r flight.MessageReader) (int64, error) {
	spec, err := ingestSpec(cmd)
	if err != nil {
		return 0, err
	}
	if id := spec.TxID; id != "" {
		if open, _ := sess.lake.InTransaction(); open != id {
			return 0, sess.noTransaction(id)
		}
	}
	if err := s.admitIngest(ctx, sess, spec); err != nil {
		return 0, err
	}
	rows, err := receive(r)
	if err != nil {
		return 0, err
	}
	if err := loadable(rows.Schema()); err != nil {
		return 0, err
	}
	return sess.lake.Ingest(ctx, spec, &arriving{received: rows, svc: s})
}

// ingestSpec reads the command.
func ingestSpec(cmd flightsql.StatementIngest) (ducklake.IngestSpec, error) {
	spec := ducklake.IngestSpec{
		Catalog: cmd.GetCatalog(), Schema: cmd.GetSchema(), Table: cmd.GetTable(),
		Temporary: cmd.GetTemporary(), TxID: string(cmd.GetTransactionId()),
	}
	if spec.Table == "" {
		return spec, fault.InvalidParameter.Newf("bulk ingest names no table")
	}
	options := cmd.GetTableDefinitionOptions()
	switch options.GetIfNotExist() {
	case ifNotExistCreate, ifNotExistUnspecified:
		spec.IfNotExist = ducklake.CreateTable
	case ifNotExistFail:
		spec.IfNotExist = ducklake.FailIfMissing
	default:
		return spec, fault.InvalidParameter.Newf("bulk ingest has an unknown choice for a missing table: %d", options.GetIfNotExist())
	}
	switch options.GetIfExists() {
	case ifExistsFail, ifExistsUnspecified:
		spec.IfExists = ducklake.FailIfExists
	case ifExistsAppend:
		spec.IfExists = ducklake.AppendRows
	case ifExistsReplace:
		spec.IfExists = ducklake.ReplaceTable
	default:
		return spec, fault.InvalidParameter.Newf("bulk ingest has an unknown choice for an existing table: %d", options.GetIfExists())
	}
	for name := range cmd.GetOptions() {
		return spec, fault.UnknownOption.Newf("bulk ingest has no option %q", name)
	}
	return spec, nil
}

// arriving counts the rows that come.
type arriving struct {
	*received
	svc *Service
}

func (a *arriving) Next() bool {
	if !a.received.Next() {
		return false
	}
	a.svc.observe.Received(batchSize(a.RecordBatch()))
	return true
}
