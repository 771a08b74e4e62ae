package fault

// Every name a user may meet. A name never changes its meaning; docs/errors.md is made from this list.
var (
	InternalError   = define("INTERNAL_ERROR", Internal, "A fault of the server itself; the message has an id that is in the log too.")
	NotYetSupported = define("NOT_YET_SUPPORTED", Unimplemented, "The feature is named in the documentation and not built yet.")
	Cancelled       = define("CANCELLED", Canceled, "The statement or job was cancelled; nothing of it will be published.")
	TimedOut        = define("TIMED_OUT", Deadline, "A time limit ran out.")
	Draining        = define("SERVER_DRAINING", Unavailable, "The server is shutting down and takes no new work.")
	QuotaExceeded   = define("QUOTA_EXCEEDED", Exhausted, "A limit per user or of the server is reached.")
	DiskFull        = define("DISK_FULL", Exhausted, "Writing failed because the disk is full; nothing was published.")
	MemoryExhausted = define("MEMORY_EXHAUSTED", Exhausted, "The statement needs more memory than it may use.")

	// SQL
	SyntaxError        = define("SYNTAX_ERROR", Invalid, "The text is not SQL that the server understands.")
	SQLError           = define("SQL_ERROR", Invalid, "DuckDB refused or failed the statement.")
	StatementForbidden = define("STATEMENT_NOT_ALLOWED", Denied, "The statement kind, function or name is outside what users may run.")
	UnknownOption      = define("UNKNOWN_OPTION", Invalid, "An option of that name does not exist here.")
	InvalidOption      = define("INVALID_OPTION", Invalid, "An option has the wrong type or is out of range.")
	InvalidParameter   = define("INVALID_PARAMETER", Invalid, "A statement parameter or request field is malformed.")
	UnstableType       = define("UNSTABLE_TYPE", Invalid, "The lake does not keep values of this type unchanged.")
	ObjectNotFound     = define("OBJECT_NOT_FOUND", NotFound, "A table, view, column or schema does not exist.")
	ObjectExists       = define("OBJECT_ALREADY_EXISTS", Exists, "The name is taken.")
	PermissionDenied   = define("PERMISSION_DENIED", Denied, "The caller may not do this.")
	ReservedName       = define("RESERVED_NAME", Invalid, "The name is reserved for the server.")

	// transactions and commits
	DDLInTransaction   = define("DDL_IN_TRANSACTION", Precondition, "DDL and view statements run by themselves; this transaction has already written.")
	TransactionFailed  = define("TRANSACTION_ABORTED", Conflict, "The transaction failed and must be rolled back.")
	TransactionUnknown = define("TRANSACTION_NOT_FOUND", NotFound, "No open transaction has this id for this caller.")
	CommitConflict     = define("COMMIT_CONFLICT", Conflict, "Another commit changed the same data; run the transaction again.")
	CommitUnknown      = define("COMMIT_OUTCOME_UNKNOWN", Unavailable, "The catalog went away during COMMIT and could not be asked; the message has the commit id to look up.")
	Fenced             = define("FENCED", Conflict, "Another server owns this object now; nothing was published.")

	// the lake
	LakeUnsupported    = define("LAKE_FORMAT_UNSUPPORTED", Precondition, "The lake's format, options or extension version is one the server does not write.")
	LakeUnreadable     = define("LAKE_UNREADABLE", Precondition, "The lake's catalog or data folder cannot be opened.")
	LakeLocked         = define("LAKE_LOCKED", Precondition, "Another process holds this embedded lake.")
	CatalogRefused     = define("CATALOG_NOT_SUPPORTED", Invalid, "The catalog kind is not supported.")
	CatalogGone        = define("CATALOG_UNREACHABLE", Unavailable, "The catalog database cannot be reached.")
	ExtensionMissing   = define("EXTENSION_MISSING", Precondition, "A DuckDB extension is not installed.")
	ExtensionInvalid   = define("EXTENSION_INVALID", Precondition, "A DuckDB extension has the wrong version, checksum or signature.")
	HistoryExpired     = define("CHANGE_HISTORY_EXPIRED", Precondition, "Snapshots that are needed are expired.")
	HistoryRewritten   = define("CHANGE_HISTORY_REWRITTEN", Precondition, "Files that hold needed history were replaced.")
	SourceInconsistent = define("SOURCE_INCONSISTENT", Precondition, "A source of a streaming view took back rows that it had not given.")
	ResultChanged      = define("RESULT_CHANGED", Conflict, "Another program wrote to the table of a streaming view; the view undoes that.")
	ExcessRetraction   = define("EXCESS_RETRACTION", Precondition, "A source took back a row more often than it had given it.")

	// materialized views
	ViewNotFound      = define("MATERIALIZED_VIEW_NOT_FOUND", NotFound, "No materialized view has this name.")
	ViewExists        = define("MATERIALIZED_VIEW_EXISTS", Exists, "A materialized view has this name already.")
	NotAView          = define("NOT_A_MATERIALIZED_VIEW", Invalid, "The object is not a materialized view, or is one of the other kind.")
	NotPopulated      = define("MATERIALIZED_VIEW_NOT_POPULATED", Precondition, "The view has no content before its first successful refresh.")
	ViewAltered       = define("MATERIALIZED_VIEW_ALTERED", Precondition, "Another program changed the columns of the view's table; it is not refreshed until they are as they were, or the view is replaced.")
	ViewTableGone     = define("MATERIALIZED_VIEW_TABLE_GONE", Precondition, "Another program dropped the view's table; create the view again, or drop it.")
	ViewStale         = define("MATERIALIZED_VIEW_STALE", Precondition, "The view is staler than its max_staleness.")
	ViewReadOnly      = define("MATERIALIZED_VIEW_READ_ONLY", Invalid, "Only a refresh writes a materialized view.")
	DefinitionTooNew  = define("DEFINITION_TOO_NEW", Precondition, "The view was written by a newer server.")
	DefinitionInvalid = define("DEFINITION_UNREADABLE", Precondition, "The view's stored definition cannot be read.")
	ViewUnadopted     = define("MATERIALIZED_VIEW_UNADOPTED", Precondition, "The table carries a definition that no administrator adopted.")
	ViewCycle         = define("VIEW_CYCLE", Invalid, "The view would read itself.")
	TemporarySource   = define("TEMPORARY_SOURCE", Invalid, "A materialized view cannot read temporary objects.")
	DependentViews    = define("DEPENDENT_VIEWS_EXIST", Precondition, "Other views read this one.")
	SourceChanged     = define("SOURCE_CHANGED", Precondition, "A source table or used column was dropped or changed its type.")
	RefreshConflict   = define("REFRESH_CONFLICT", Conflict, "Another refresh of the view published first.")

	// streaming views
	PlanRefused = define("PLAN_NOT_INCREMENTAL", Invalid, "The query cannot be kept up to date as a streaming view; the message has every reason, as EXPLAIN STREAMING says them.")
	NotReady    = define("MATERIALIZED_VIEW_NOT_READY", Precondition, "The streaming view has no complete first result yet.")
	RowFailed   = define("ROW_FAILED", Precondition, "A row of a source cannot be computed; the view serves its last result until that row is gone and it is restarted.")

	// subscriptions
	ResumeExpired     = define("RESUME_TOKEN_EXPIRED", Precondition, "The changes since the snapshot that a subscription should go on from are gone; start with the content.")
	SubscriberTooSlow = define("SUBSCRIPTION_TOO_SLOW", Exhausted, "The subscriber did not take a batch in time and was cut off; the hint says where to go on.")

	// jobs and query handles
	JobNotFound       = define("JOB_NOT_FOUND", NotFound, "No job has this id for this caller.")
	JobInterrupted    = define("JOB_INTERRUPTED", Unavailable, "The server that ran the job stopped; the job was not finished.")
	JobNotCancellable = define("JOB_NOT_CANCELLABLE", Precondition, "The job has ended.")
	HandleNotFound    = define("QUERY_HANDLE_NOT_FOUND", NotFound, "The query handle is unknown, expired, or of another caller.")
	SessionNotFound   = define("SESSION_NOT_FOUND", NotFound, "The session is closed or was never opened.")

	// the engine's state
	StateStampDiffers = define("STATE_STAMP_DIFFERS", Precondition, "A checkpoint was written by another version or for another plan; the state is rebuilt.")
	StateUnreadable   = define("STATE_UNREADABLE", Internal, "A checkpoint cannot be read or written; the message says what of it.")

	// callers
	Unauthorized     = define("UNAUTHENTICATED", Unauthenticated, "The credentials are missing, wrong or expired.")
	InsecureListener = define("INSECURE_LISTENER", Invalid, "Serving without authentication is refused on this address.")
	PortTaken        = define("ADDRESS_IN_USE", Precondition, "The listen address is taken.")
	ConfigInvalid    = define("CONFIG_INVALID", Invalid, "The configuration is wrong.")

	// sidecars
	NotConfigured       = define("NOT_CONFIGURED", Unavailable, "The sidecar has no lake yet; its host opens one.")
	SidecarMissing      = define("SIDECAR_MISSING", Precondition, "The sidecar's program cannot be found or started.")
	SidecarChanged      = define("SIDECAR_CHANGED", Precondition, "The sidecar's program has another checksum than its host expects.")
	SidecarIncompatible = define("SIDECAR_INCOMPATIBLE", Precondition, "Host and sidecar have no version of their protocol in common.")
	SidecarGone         = define("SIDECAR_GONE", Unavailable, "The sidecar's process has ended, or does not answer.")
)
