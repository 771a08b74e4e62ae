package feed

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// chunkFiles is how many files one statement reads.
const chunkFiles = 100

// schemaField is a column of a Parquet file, found by its field id.
type schemaField struct {
	id        int64
	name, typ string
	def       string // the literal for files that do not have it; "" is NULL
}

// schemaOf makes read_parquet find the fields by their ids, whatever the file calls them and whether it has them or not.
func schemaOf(fields []schemaField) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		def := f.def
		if def == "" {
			def = "CAST(NULL AS VARCHAR)"
		}
		parts[i] = fmt.Sprintf("%d: {name: %s, type: %s, default_value: %s}", f.id, metadata.QuoteLiteral(f.name), metadata.QuoteLiteral(f.typ), def)
	}
	return ", schema = MAP {" + strings.Join(parts, ", ") + "}"
}

// readParquet is the table function over files.
func readParquet(paths []string, source string) string {
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = metadata.QuoteLiteral(globs.Replace(p))
	}
	return "read_parquet([" + strings.Join(quoted, ", ") + "]" + source + ")"
}

// globs makes patterns of paths that match just these.
var globs = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")

// numbers is a list literal.
func numbers(list []int64) string { return "[" + strings.Join(texts(list), ", ") + "]" }

func texts(list []int64) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = fmt.Sprint(n)
	}
	return out
}

// chunk is files that one statement reads.
type chunk struct {
	shape shape
	files []dataFile
}

func (c chunk) from() string {
	paths := make([]string, len(c.files))
	for i, f := range c.files {
		paths[i] = f.path
	}
	return readParquet(paths, c.shape.source)
}

// perFile is the expression for what each file has of its own.
func (c chunk) perFile(of func(dataFile) int64) string {
	list := make([]int64, len(c.files))
	same := true
	for i, f := range c.files {
		list[i] = of(f)
		same = same && list[i] == list[0]
	}
	if same {
		return fmt.Sprintf("CAST(%d AS BIGINT)", list[0])
	}
	return "CAST(" + numbers(list) + "[CAST(a.file_index AS BIGINT) + 1] AS BIGINT)"
}

// chunks puts files that are read alike together.
func (s *Stream) chunks(ctx context.Context, tx metadata.Tx, files []dataFile) ([]chunk, error) {
	var out []chunk
	open := map[string]int{}
	mapped := map[int64]shape{}
	for _, f := range files {
		sh, known := mapped[f.mapping]
		if f.mapping < 0 || !known {
			var err error
			if sh, err = s.shapeOf(ctx, tx, f); err != nil {
				return nil, err
			}
			mapped[f.mapping] = sh
		}
		key := sh.source + strings.Join(sh.values, ",")
		i, ok := open[key]
		if !ok || len(out[i].files) == chunkFiles {
			i = len(out)
			out, open[key] = append(out, chunk{shape: sh}), i
		}
		out[i].files = append(out[i].files, f)
	}
	return out, nil
}

// began is the expression for the snapshot that a row began in.
func (c chunk) began() string {
	return "coalesce(" + c.shape.stamp + ", " + c.perFile(func(f dataFile) int64 { return f.begin }) + ")"
}

// came is the part of the stream with a chunk's rows that came in the window.
func (s *Stream) came(c chunk) part {
	snapshot := c.began()
	sql := s.reader.selection(snapshot, "1", c.shape.values) + " FROM " + c.from() + " a WHERE " +
		snapshot + fmt.Sprintf(" BETWEEN %d AND %d", s.span.from+1, s.span.to)
	var rewrites []int64
	for _, sc := range s.span.changes {
		if s.rewrote(sc.ID) {
			rewrites = append(rewrites, sc.ID)
		}
	}
	if len(rewrites) > 0 {
		sql += " AND " + snapshot + " NOT IN (" + strings.Join(texts(rewrites), ", ") + ")"
	}
	return func(ctx context.Context) (*duck.Reader, error) { return s.conn().Query(ctx, sql) }
}
