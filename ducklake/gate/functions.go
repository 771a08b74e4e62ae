package gate

import (
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// Every function of the DuckDB build, its extensions and the lake is decided here. A test compares these lists
// with the functions of a real instance: a name that is in neither is refused, and fails the test.

// allowedScalar compute values from their arguments alone, or say harmless things about the session.
const allowedScalar = `
abs acos acosh add age aggregate alias apply array_aggr array_aggregate array_apply array_cat array_concat
array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance array_distinct
array_dot_product array_extract array_filter array_grade_up array_has array_has_all array_has_any array_indexof
array_inner_product array_intersect array_length array_negative_dot_product array_negative_inner_product
array_position array_reduce array_resize array_reverse_sort array_select array_slice array_sort array_to_json
array_transform array_unique array_value array_where array_zip ascii asin asinh atan atan2 atanh bar base64 bin
bit_count bit_length bit_position bitstring can_cast_implicitly cardinality cast_to_type cbrt ceil ceiling century
char_length character_length chr concat concat_ws constant_or_null contains cos cosh cot create_sort_key
current_connection_id current_database current_date current_localtime current_localtimestamp current_query
current_query_id current_schema current_schemas current_transaction_id damerau_levenshtein date_diff date_part
date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade decode
degrees divide editdist3 element_at encode ends_with enum_code enum_first enum_last enum_range enum_range_boundary
epoch epoch_ms epoch_ns epoch_us equi_width_bins era error even exp factorial filter flatten floor format
format_bytes formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex from_json
from_json_strict gamma gcd gen_random_uuid generate_series get_bit get_current_time get_current_timestamp get_type
getvariable grade_up greatest greatest_common_divisor hamming hash hex hour icu_sort_key ilike_escape in_search_path
instr is_histogram_other_bin isfinite isinf isnan isodow isoyear jaccard jaro_similarity jaro_winkler_similarity
json_array json_array_length json_exists json_extract json_extract_path
json_extract_path_text json_extract_string json_keys json_object json_pretty json_quote
json_transform json_transform_strict json_type json_valid json_value julian
last_day lcase lcm least least_common_multiple left left_grapheme len length length_grapheme levenshtein lgamma
like_escape list_aggr list_aggregate list_apply list_cat list_concat list_contains list_cosine_distance
list_cosine_similarity list_distance list_distinct list_dot_product list_element list_extract list_filter
list_grade_up list_has list_has_all list_has_any list_indexof list_inner_product list_intersect
list_negative_dot_product list_negative_inner_product list_pack list_position list_reduce list_resize
list_reverse_sort list_select list_slice list_sort list_transform list_unique list_value list_where list_zip ln log
log10 log2 lower lpad ltrim make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz
map map_concat map_contains map_entries map_extract map_extract_value map_from_entries map_keys map_values
md5 md5_number microsecond millennium millisecond minute mismatches mod month monthname multiply murmur3_32
nanosecond nextafter nfc_normalize normalized_interval not_ilike_escape not_like_escape now octet_length ord
parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path pi position pow power prefix printf
quarter radians random range reduce regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
regexp_replace regexp_split_to_array remap_struct repeat replace reverse right right_grapheme round row
row_to_json rpad rtrim second set_bit sha1 sha256 sign signbit sin sinh split sqrt st_asbinary st_astext
st_aswkb st_aswkt st_crs st_geomfromwkb st_intersects_extent st_setcrs starts_with stats str_split str_split_regex
strftime string_split string_split_regex string_to_array strip_accents strlen strpos strptime struct_concat
struct_contains struct_extract struct_extract_at struct_has struct_indexof struct_insert struct_keys struct_pack
struct_position struct_update struct_values substr substring substring_grapheme subtract suffix switch tan tanh
time_bucket timetz_byte_comparable timezone timezone_hour timezone_minute to_base to_base64 to_binary to_centuries
to_days to_decades to_hex to_hours to_json to_microseconds to_millennia to_milliseconds to_minutes to_months
to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp translate trim trunc try_strptime
typeof ucase unbin unhex unicode union_extract union_tag union_value unpivot_list upper url_decode
url_encode uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
vector_type version week weekday weekofyear xor year yearweek`

// allowedAggregate are all aggregate and window functions.
const allowedAggregate = `
any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_max_nulls_last
arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor bitstring_agg bool_and
bool_or corr count count_if count_star countif covar_pop covar_samp cume_dist dense_rank entropy favg fill first
first_value fsum group_concat histogram histogram_exact kahan_sum kurtosis kurtosis_pop lag last last_value lead
list listagg mad max max_by mean median min min_by mode nth_value ntile percent_rank product quantile quantile_cont
quantile_disc rank rank_dense regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
regr_syy reservoir_quantile row_number sem skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow
sumkahan var_pop var_samp variance`

// allowedMacro are DuckDB's own macros over allowed functions.
const allowedMacro = `
ago array_append array_pop_back array_pop_front array_prepend array_push_back array_push_front array_reverse
array_to_string array_to_string_comma_default col_description current_catalog current_database current_query
current_role current_schema current_schemas current_user date_add days_in_month fdiv fmod format_pg_type format_type
generate_subscripts geomean geometric_mean has_any_column_privilege has_column_privilege has_database_privilege
has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege has_schema_privilege
has_sequence_privilege has_server_privilege has_table_privilege has_tablespace_privilege inet_client_addr
inet_client_port inet_server_addr inet_server_port json json_group_array json_group_object
list_any_value list_append list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and
list_bool_or list_count list_entropy list_first list_histogram list_kurtosis list_kurtosis_pop list_last list_mad
list_max list_median list_min list_mode list_prepend list_product list_reverse list_sem list_skewness
list_stddev_pop list_stddev_samp list_string_agg list_sum list_var_pop list_var_samp map_contains_entry
map_contains_value map_to_pg_oid md5_number_lower md5_number_upper nullif obj_description pg_collation_is_visible
pg_conf_load_time pg_conversion_is_visible pg_function_is_visible pg_get_constraintdef pg_get_expr pg_get_viewdef
pg_has_role pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible
pg_opfamily_is_visible pg_postmaster_start_time pg_size_pretty pg_table_is_visible pg_ts_config_is_visible
pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible pg_typeof
regexp_split_to_table round_even roundbankers session_user shobj_description split_part user wavg weighted_avg`

// allowedTable are the table functions that read nothing but their arguments, and the catalog listings that the
// system views use; these name objects of the attached catalogs, which all users may know.
const allowedTable = `
duckdb_columns duckdb_constraints duckdb_coordinate_systems duckdb_dependencies duckdb_functions duckdb_indexes
duckdb_keywords duckdb_schemas duckdb_sequences duckdb_tables duckdb_types duckdb_views generate_series
histogram_values icu_calendar_names json_each json_tree pg_timezone_names pragma_collations pragma_platform
pragma_version range repeat repeat_row summary test_all_types unnest`

// listing are those whose rows are filtered for users, by macros that are found by the bare name.
var listing = set("duckdb_tables duckdb_views duckdb_columns duckdb_constraints duckdb_functions")

// lakeFunctions read the lake's own history: `lake.snapshots()`, `lake.table_changes('t', 1, 2)`. The shadow has
// macros of their shape; ducklake_* take the lake's name as their first argument.
const lakeFunctions = `
snapshots current_snapshot last_committed_snapshot table_info table_changes table_insertions table_deletions`

const catalogFunctions = `
ducklake_snapshots ducklake_current_snapshot ducklake_last_committed_snapshot ducklake_table_info
ducklake_table_changes ducklake_table_insertions ducklake_table_deletions`

// denied names and why they are refused.
var denied = []struct{ why, names string }{
	{"it runs SQL or names tables from a string, past the checks of this server",
		`query query_table json_execute_serialized_sql json_serialize_plan pragma_table_info pragma_show pragma_storage_info
seq_scan duckdb_table_sample`},
	{"it reads files; load data through bulk ingest or INSERT",
		`read_csv read_csv_auto read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto
read_ndjson_objects read_parquet read_text read_blob read_duckdb read_postgres_binary glob sniff_csv parquet_scan
parquet_metadata parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_schema parquet_bloom_probe
sqlite_scan sqlite_query sqlite_attach read_avro read_xlsx iceberg_scan delta_scan st_read`},
	{"it reaches another database server",
		`postgres_scan postgres_scan_pushdown postgres_query postgres_execute postgres_attach postgres_configure_pool
pg_clear_cache postgres_hstore_get postgres_hstore_to_json mysql_scan mysql_query mysql_execute http_get http_post`},
	{"it changes the lake behind the server, which does its maintenance itself",
		`ducklake_add_data_files ducklake_cleanup_old_files ducklake_commit ducklake_delete_orphaned_files
ducklake_expire_snapshots ducklake_flush_inlined_data ducklake_merge_adjacent_files ducklake_rewrite_data_files
ducklake_set_commit_message ducklake_set_option checkpoint force_checkpoint`},
	{"it shows where and how the server keeps the lake",
		`ducklake_scan ducklake_list_files ducklake_options ducklake_settings duckdb_databases duckdb_extensions
duckdb_external_file_cache duckdb_memory duckdb_settings duckdb_temporary_files pragma_database_size get_block_size
pragma_metadata_info pragma_user_agent duckdb_secrets duckdb_secret_types which_secret duckdb_optimizers
duckdb_profiling_settings duckdb_approx_database_count`},
	{"it shows other sessions",
		`duckdb_logs duckdb_logs_parsed duckdb_log_contexts duckdb_connection_count parse_duckdb_log_message`},
	{"it changes the server's logs or profiles",
		`enable_logging disable_logging truncate_duckdb_logs write_log enable_profiling disable_profiling`},
	{"it changes the server's parser", `enable_peg_parser disable_peg_parser check_peg_parser`},
	{"it lists the names of the host's files", `sql_auto_complete`},
	{"connections are pooled, so what it shows is not the session's",
		`duckdb_prepared_statements duckdb_variables`},
	{"connections are pooled, so the next statement would not see it, and another session's would", `setseed`},
	{"DuckDB recurses over their values without a limit, and one that is nested deeply enough ends the server; extract what is needed, or cast it to a type",
		`json_structure json_group_structure json_contains json_merge_patch json_serialize_sql json_deserialize_sql variant_extract variant_normalize variant_typeof`},
	{"types are written, not computed", `make_type replace_type`},
	{"it takes raw memory", `duck_arrow_stream arrow_scan arrow_scan_dumb pandas_scan python_map_function finalize combine
variant_bytes_to_variant variant_to_parquet_variant test_vector_types`},
	{"the lake has no sequences", `nextval currval`},
	{"the lake does not number its transactions", `txid_current`},
	{"it holds a worker without working", `sleep_ms pg_sleep`},
	{"it shows the server's settings; only the session's own may be asked for", `current_setting`},
}

// reservedMacro are the functions that DuckLake puts into every schema of a lake; users may not take the names.
const reservedMacro = lakeFunctions + `
list_files options set_option settings set_commit_message add_data_files cleanup_old_files delete_orphaned_files
expire_snapshots flush_inlined_data merge_adjacent_files rewrite_data_files commit at`

// askable are the settings that current_setting may name.
var askable = set("timezone calendar schema search_path")

// adminTable are table functions that administrators may read.
var adminTable = set("duckdb_databases duckdb_settings duckdb_memory duckdb_temporary_files duckdb_extensions")

var (
	allowedFunction = set(allowedScalar + allowedAggregate + allowedMacro + allowedTable + lakeFunctions)
	catalogFunction = set(catalogFunctions)
	allowedScan     = set(allowedTable)
	reservedName    = set(reservedMacro)
	deniedFunction  = func() map[string]string {
		m := map[string]string{}
		for _, d := range denied {
			for _, n := range strings.Fields(d.names) {
				m[n] = d.why
			}
		}
		return m
	}()
)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// verdict says whether a function of that lower-case name may be called; exists says that the build knows it.
func verdict(name string, admin bool, exists func(string) bool) (why string, ok bool) {
	switch {
	case admin && adminTable[name]:
		return "", true
	case allowedFunction[name] || catalogFunction[name] || strings.HasPrefix(name, "icu_collate_"):
		return "", true
	}
	if why := deniedFunction[name]; why != "" {
		return why, false
	}
	for _, p := range []string{"__", "ducklake_", "postgres_", "sqlite_", "duckdb_", "pragma_", "parquet_", "read_"} {
		if strings.HasPrefix(name, p) {
			return "functions of that family are not for users", false
		}
	}
	if exists(name) {
		return "it is not on the list of functions this server knows", false
	}
	return "", true
}

// deniedName says that no macro of users may have the name.
func deniedName(name string) bool {
	_, ok := verdict(name, false, func(string) bool { return false })
	return !ok
}

func refuseFunction(name, why string, at int) error {
	return fault.StatementForbidden.Newf("function %s is not allowed: %s", name, why).At(at)
}

// checkFunctions refuses the tokens when a function that is named anywhere in them is not allowed, and returns the
// names of those that are functions. A name followed by an opening parenthesis counts, however it is spelled. made is
// the token that names what the statement makes or fills, or -1.
func checkFunctions(toks []token, v vocabulary, admin bool, made int) ([]string, error) {
	var used []string
	seen := map[string]bool{}
	for i, t := range toks {
		if !t.name() {
			continue
		}
		if strings.Contains(t.lower, metadataPrefix) {
			return nil, fault.StatementForbidden.Newf("the lake's metadata catalog is not for users").At(t.start)
		}
		if i+1 >= len(toks) || !toks[i+1].op('(') {
			continue
		}
		if i == made {
			continue
		}
		if why, bad := v.poisoned(t.lower); bad {
			return nil, fault.StatementForbidden.Newf("%s cannot be used: %s", t.text, why).At(t.start)
		}
		if t.lower == "current_setting" {
			if i+3 < len(toks) && toks[i+2].kind == str && askable[lower(toks[i+2].text)] && toks[i+3].op(')') {
				continue
			}
		}
		if why, ok := verdict(t.lower, admin, v.exists); !ok {
			return nil, refuseFunction(t.text, why, t.start)
		}
		if listing[t.lower] && i > 0 && toks[i-1].op('.') {
			return nil, refuseFunction(t.text, "it is called by its name alone, without a catalog or schema", t.start)
		}
		if shaped[t.lower] {
			if err := checkShape(toks, t, i+1); err != nil {
				return nil, err
			}
		}
		if (t.lower == "date_part" || t.lower == "datepart") && !writtenPart(toks, i) {
			return nil, refuseFunction(t.text, "its first argument must be a written text, as in date_part('hour', …): of one that is computed DuckDB may fail as a whole", t.start)
		}
		if catalogFunction[t.lower] {
			if i+2 >= len(toks) || toks[i+2].kind != str || lower(toks[i+2].text) != v.lake() {
				return nil, refuseFunction(t.text, fmt.Sprintf("its first argument must be the string '%s'", v.lake()), t.start)
			}
		}
		if !seen[t.lower] && (allowedFunction[t.lower] || catalogFunction[t.lower] || v.macro(t.lower)) {
			seen[t.lower] = true
			used = append(used, t.lower)
		}
	}
	return used, nil
}

// writtenPart says that the date_part at i is asked for a constant: for the epoch or the Julian day of a TIMESTAMP WITH TIME ZONE that a column
// names, DuckDB has no code, and takes no work afterwards.
func writtenPart(toks []token, i int) bool {
	method := i > 0 && toks[i-1].op('.') && !(i > 1 && (toks[i-2].lower == "main" || toks[i-2].lower == "pg_catalog"))
	if method || i+3 >= len(toks) {
		return false
	}
	return toks[i+2].op('[') || (toks[i+2].kind == str || toks[i+2].kind == param) && toks[i+3].op(',')
}

// metadataPrefix begins the names of DuckLake's hidden metadata catalogs.
const metadataPrefix = "__ducklake_metadata"

// vocabulary is what names mean at one schema version.
type vocabulary interface {
	lake() string                        // the lake's catalog name in lower case
	exists(function string) bool         // the build has a function of that name
	macro(name string) bool              // the lake has a macro of that name
	poisoned(name string) (string, bool) // the lake has a macro of that name that must not be called, and why
}
