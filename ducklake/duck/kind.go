package duck

import ddb "github.com/duckdb/duckdb-go-bindings"

// StatementKind is what DuckDB's parser says a statement is.
type StatementKind int

// The kinds, with DuckDB's numbers.
const (
	KindInvalid          = StatementKind(ddb.StatementTypeInvalid)
	KindSelect           = StatementKind(ddb.StatementTypeSelect)
	KindInsert           = StatementKind(ddb.StatementTypeInsert)
	KindUpdate           = StatementKind(ddb.StatementTypeUpdate)
	KindExplain          = StatementKind(ddb.StatementTypeExplain)
	KindDelete           = StatementKind(ddb.StatementTypeDelete)
	KindPrepare          = StatementKind(ddb.StatementTypePrepare)
	KindCreate           = StatementKind(ddb.StatementTypeCreate)
	KindExecute          = StatementKind(ddb.StatementTypeExecute)
	KindAlter            = StatementKind(ddb.StatementTypeAlter)
	KindTransaction      = StatementKind(ddb.StatementTypeTransaction)
	KindCopy             = StatementKind(ddb.StatementTypeCopy)
	KindAnalyze          = StatementKind(ddb.StatementTypeAnalyze)
	KindVariableSet      = StatementKind(ddb.StatementTypeVariableSet)
	KindCreateFunc       = StatementKind(ddb.StatementTypeCreateFunc)
	KindDrop             = StatementKind(ddb.StatementTypeDrop)
	KindExport           = StatementKind(ddb.StatementTypeExport)
	KindPragma           = StatementKind(ddb.StatementTypePragma)
	KindVacuum           = StatementKind(ddb.StatementTypeVacuum)
	KindCall             = StatementKind(ddb.StatementTypeCall)
	KindSet              = StatementKind(ddb.StatementTypeSet)
	KindLoad             = StatementKind(ddb.StatementTypeLoad)
	KindRelation         = StatementKind(ddb.StatementTypeRelation)
	KindExtension        = StatementKind(ddb.StatementTypeExtension)
	KindLogicalPlan      = StatementKind(ddb.StatementTypeLogicalPlan)
	KindAttach           = StatementKind(ddb.StatementTypeAttach)
	KindDetach           = StatementKind(ddb.StatementTypeDetach)
	KindMulti            = StatementKind(ddb.StatementTypeMulti)
	KindCopyDatabase     = StatementKind(ddb.StatementTypeCopyDatabase)
	KindUpdateExtensions = StatementKind(ddb.StatementTypeUpdateExtensions)
	KindMergeInto        = StatementKind(ddb.StatementTypeMergeInto)
)

// Kinds names every kind as DuckDB does.
var Kinds = map[StatementKind]string{
	KindInvalid: "INVALID", KindSelect: "SELECT", KindInsert: "INSERT", KindUpdate: "UPDATE",
	KindExplain: "EXPLAIN", KindDelete: "DELETE", KindPrepare: "PREPARE", KindCreate: "CREATE",
	KindExecute: "EXECUTE", KindAlter: "ALTER", KindTransaction: "TRANSACTION", KindCopy: "COPY",
	KindAnalyze: "ANALYZE", KindVariableSet: "VARIABLE_SET", KindCreateFunc: "CREATE_FUNC",
	KindDrop: "DROP", KindExport: "EXPORT", KindPragma: "PRAGMA", KindVacuum: "VACUUM",
	KindCall: "CALL", KindSet: "SET", KindLoad: "LOAD", KindRelation: "RELATION",
	KindExtension: "EXTENSION", KindLogicalPlan: "LOGICAL_PLAN", KindAttach: "ATTACH",
	KindDetach: "DETACH", KindMulti: "MULTI", KindCopyDatabase: "COPY_DATABASE",
	KindUpdateExtensions: "UPDATE_EXTENSIONS", KindMergeInto: "MERGE_INTO",
}

func (k StatementKind) String() string {
	if name, ok := Kinds[k]; ok {
		return name
	}
	return "UNKNOWN"
}
