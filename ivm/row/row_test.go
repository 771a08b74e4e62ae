package row

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// samples are values of every supported type, as text.
var samples = map[string][]string{
	"BOOLEAN": {"true", "false"}, "TINYINT": {"-128", "127", "0"}, "SMALLINT": {"-32768", "32767"}, "INTEGER": {"-2147483648", "7"},
	"BIGINT": {"-9223372036854775808", "9223372036854775807", "-1"}, "UTINYINT": {"255"}, "USMALLINT": {"65535"}, "UINTEGER": {"4294967295"},
	"UBIGINT": {"18446744073709551615"}, "HUGEINT": {"-99999999999999999999999999999999999999", "5", "-1"}, "UHUGEINT": {"99999999999999999999999999999999999999", "0"},
	"FLOAT": {"1.5", "-0", "nan", "inf"}, "DOUBLE": {"1e+300", "-inf", "0.1"}, "DECIMAL(4,1)": {"-123.4"}, "DECIMAL(18,2)": {"-0.05", "9999999999999999.99"},
	"DECIMAL(38,10)": {"-1234567890123456789012345678.0123456789", "1.0000000000"}, "DATE": {"2024-02-29", "1969-12-31", "infinity", "-infinity"},
	"TIME": {"23:59:59.999999", "00:00:00"}, "TIME_NS": {"12:00:00.000000001"}, "TIME WITH TIME ZONE": {"12:34:56.5+02", "00:00:00-15:59:59", "01:02:03+05:30"},
	"TIMESTAMP": {"2024-02-29 12:34:56.789", "1969-12-31 23:59:59.999999", "infinity"}, "TIMESTAMP_S": {"2024-01-01 00:00:00"},
	"TIMESTAMP_MS": {"1960-01-01 00:00:00.001"}, "TIMESTAMP_NS": {"2024-01-01 00:00:00.000000001"}, "TIMESTAMP WITH TIME ZONE": {"2024-02-29 12:00:00+00"},
	"INTERVAL": {"1mon 2d 3us", "-1mon -2d -3us"}, "UUID": {"00112233-4455-6677-8899-aabbccddeeff", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
	"VARCHAR": {"a", "abc", "abcd", "abcdefgh", "abcdefghijkl", "abcdefghijklm", "''", "'it''s | one'", "'null'", `"two\nlines"`, "größer als zwölf Zeichen"},
	"JSON":    {`'{"a": [1, 2]}'`}, "ENUM('x', 'it''s')": {"x", "'it''s'"}, "BIT": {"0101"}, "BIGNUM": {"-123456789012345678901234567890123456789012345678901234567890"},
	"BLOB": {`\x00ff`, `\x`, `\x000102030405060708090a0b0c0d0e0f`}, "GEOMETRY": {`\x0101`},
	`"NULL"`:    {"NULL"},
	"INTEGER[]": {"[]", "[1, NULL, 3]"}, "VARCHAR[3]": {"[a, NULL, 'b, c']"}, "DECIMAL(18,2)[][]": {"[[], NULL, [1.50]]"},
	"STRUCT(a INTEGER, \"b c\" VARCHAR[])": {"{a: 1, b c: [x, NULL]}", "{a: NULL, b c: NULL}"}, "STRUCT(INTEGER, UUID)": {"{'': 3, '': 00112233-4455-6677-8899-aabbccddeeff}"},
	"MAP(VARCHAR, DOUBLE)":                                          {"{}", "{a = 1.5, b = NULL}"},
	"UNION(num INTEGER, str VARCHAR)":                               {"num: 5", "str: hello", "str: NULL"},
	"STRUCT(u UNION(i BIGINT, t TIMESTAMP), h HUGEINT)[]":           {"[{u: i: 5, h: 7}, {u: NULL, h: NULL}]"},
	"MAP(DATE, STRUCT(t TIME WITH TIME ZONE, b BLOB, e ENUM('x')))": {"{2024-01-01 = {t: 01:02:03+05, b: \\x00, e: x}}"},
	"INTERVAL[]": {"[1mon 0d 0us]"}, "BOOLEAN[2]": {"[true, NULL]"},
}

func TestTypesAreWrittenAsTheyAreRead(t *testing.T) {
	for name := range samples {
		typ, err := ParseType(name)
		if err != nil {
			t.Fatal(err)
		}
		if typ.String() != name {
			t.Errorf("%s is written as %s", name, typ)
		}
	}
	for in, want := range map[string]string{
		"int": "INTEGER", "timestamptz": "TIMESTAMP WITH TIME ZONE", "Decimal( 10 )": "DECIMAL(10,0)", "numeric": "DECIMAL(18,3)", "text[ ][2]": "VARCHAR[][2]",
		"struct(\"select\" int)": `STRUCT("select" INTEGER)`, "row(int, varchar)": "STRUCT(INTEGER, VARCHAR)", "time with time zone": "TIME WITH TIME ZONE", "varchar(10)": "VARCHAR",
	} {
		if typ, err := ParseType(in); err != nil || typ.String() != want {
			t.Errorf("%s is %s (%v), want %s", in, typ, err, want)
		}
	}
	for _, in := range []string{"", "foo", "DECIMAL(40,1)", "INTEGER[", "STRUCT(", "MAP(INTEGER)", "INTEGER x", "VARIANT", "DECIMAL(3,4)", "INTEGER[0]", "'x'"} {
		if typ, err := ParseType(in); err == nil {
			t.Errorf("%q is read as %s", in, typ)
		}
	}
	if typ := MustType("VARCHAR COLLATE de.nfc"); typ.Collation != "de.nfc" {
		t.Errorf("collation is %q", typ.Collation)
	}
}

// every makes a layout of all types and rows that have all samples and NULLs.
func every(t *testing.T, h *Heap) (*Layout, []uint64, int) {
	t.Helper()
	var names []string
	most := 0
	for name, vs := range samples {
		names = append(names, name)
		most = max(most, len(vs))
	}
	l := ParseLayout(names...)
	words, _ := l.Grow(nil, most+1)
	for k := range most + 1 {
		r := words[k*l.Words : (k+1)*l.Words]
		for i, name := range names {
			if vs := samples[name]; k < len(vs) {
				one := NewLayout(l.Types[i])
				tmp := make([]uint64, one.Words)
				if err := one.ParseRow(tmp, vs[k], h); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				l.CopyField(r, i, h, one, tmp, 0, h)
				if got := one.Format(tmp, h); got != vs[k] {
					t.Errorf("%s: %s is written as %s", name, vs[k], got)
				}
			} else {
				l.SetNull(r, i)
			}
		}
	}
	return l, words, most + 1
}

func TestEveryTypeGoesThroughArrow(t *testing.T) {
	var h, h2 Heap
	l, words, n := every(t, &h)
	schema, err := l.Schema(nil, "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if back, err := FromSchema(schema); err != nil || !back.Same(l) {
		t.Fatalf("the schema tells %v (%v)", back, err)
	}
	rec, err := l.ToArrow(schema, words, n, &h)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	for _, from := range []int64{0, 3} { // sliced too
		part := rec.NewSlice(from, int64(n))
		got, err := l.FromArrow(nil, &h2, part)
		if err != nil {
			t.Fatal(err)
		}
		for k := int(from); k < n; k++ {
			a, b := words[k*l.Words:(k+1)*l.Words], got[(k-int(from))*l.Words:]
			for i, typ := range l.Types {
				x, y := l.FormatField(nil, a, i, &h), l.FormatField(nil, b, i, &h2)
				if !bytes.Equal(x, y) {
					t.Errorf("%s: row %d: %s became %s", typ, k, x, y)
				}
			}
			if !l.Equal(a, &h, b, &h2) || l.Hash(a, &h) != l.Hash(b, &h2) || l.Compare(a, &h, b, &h2) != 0 {
				t.Errorf("row %d is not what it was", k)
			}
		}
		part.Release()
	}
}

func TestRowsGoThroughBytes(t *testing.T) {
	var h, h2 Heap
	l, words, n := every(t, &h)
	var p []byte
	for k := range n {
		p = l.AppendBytes(p, words[k*l.Words:(k+1)*l.Words], &h)
	}
	whole := p
	r := make([]uint64, l.Words)
	for k := range n {
		var err error
		if p, err = l.ReadBytes(r, p, &h2); err != nil {
			t.Fatal(err)
		}
		if !l.Equal(words[k*l.Words:(k+1)*l.Words], &h, r, &h2) {
			t.Errorf("row %d is not what it was", k)
		}
		l.Free(r, &h2)
	}
	if len(p) != 0 || h2.Size() != 0 {
		t.Errorf("%d bytes are left, %d of the heap in use", len(p), h2.Size())
	}
	for cut := 0; cut < len(whole)/n; cut += 7 {
		if _, err := l.ReadBytes(r, whole[:cut], &h2); err == nil {
			t.Fatalf("a row of %d bytes is read", cut)
		}
	}
}

func TestHeapKeepsWhatItWasGiven(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var h Heap
	for round := range 3 {
		type value struct {
			ref uint64
			b   []byte
		}
		var live []value
		for range 20000 {
			if len(live) > 0 && rnd.IntN(5) < 2 {
				i := rnd.IntN(len(live))
				v := live[i]
				if !bytes.Equal(h.Get(v.ref, len(v.b)), v.b) {
					t.Fatalf("round %d: %d bytes at %x changed", round, len(v.b), v.ref)
				}
				h.Free(v.ref, len(v.b))
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
				continue
			}
			n := 13 + rnd.IntN(60)
			switch rnd.IntN(400) {
			case 0:
				n = rnd.IntN(300000)
			case 1, 2, 3, 4:
				n = rnd.IntN(5000)
			}
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
			v := value{h.Put(b), b}
			if v.ref == 0 {
				t.Fatal("a ref is 0")
			}
			live = append(live, v)
		}
		for _, v := range live {
			if !bytes.Equal(h.Get(v.ref, len(v.b)), v.b) {
				t.Fatalf("round %d: %d bytes at %x changed", round, len(v.b), v.ref)
			}
			if round == 1 {
				h.Free(v.ref, len(v.b))
			}
		}
		if round == 1 && h.Size() != 0 {
			t.Fatalf("%d bytes in use after all was freed", h.Size())
		}
		h.Reset()
		if h.Size() != 0 {
			t.Fatal("bytes in use after Reset")
		}
	}
	for n := range 300000 {
		if n > 1 && n <= largest {
			if class, size := classOf(n); size < n || class >= classes || class < 0 || size > n+max(16, n/4+1) {
				t.Fatalf("%d bytes have class %d of %d", n, class, size)
			}
		}
	}
}

func TestShortValuesCompareByWords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	var h Heap
	for range 200000 {
		a, b := make([]byte, rnd.IntN(16)), make([]byte, rnd.IntN(16))
		for i := range a {
			a[i] = byte(rnd.IntN(3))
		}
		copy(b, a)
		for range rnd.IntN(2) {
			if len(b) > 0 {
				b[rnd.IntN(len(b))] = byte(rnd.IntN(256))
			}
		}
		a0, a1 := PutVar(a, &h)
		b0, b1 := PutVar(b, &h)
		if got := VarBytes(a0, a1, &h, nil); !bytes.Equal(got, a) {
			t.Fatalf("%x became %x", a, got)
		}
		want := bytes.Compare(a, b)
		if c := CompareVar(a0, a1, &h, b0, b1, &h); (c < 0) != (want < 0) || (c > 0) != (want > 0) {
			t.Fatalf("%x and %x compare as %d", a, b, c)
		}
		if EqualVar(a0, a1, &h, b0, b1, &h) != (want == 0) {
			t.Fatalf("%x and %x: equality is wrong", a, b)
		}
	}
}

func TestNothingIsAllocatedPerRow(t *testing.T) {
	l := ParseLayout("BIGINT", "VARCHAR", "HUGEINT")
	var h Heap
	r, q := make([]uint64, l.Words), make([]uint64, l.Words)
	l.SetBytes(r, 1, []byte("a text that is longer than twelve bytes"), &h)
	buf := make([]byte, 0, 200)
	allocs := testing.AllocsPerRun(1000, func() {
		l.Copy(q, &h, r, &h)
		if !l.Equal(q, &h, r, &h) || l.Compare(q, &h, r, &h) != 0 || l.Hash(q, &h) != l.Hash(r, &h) {
			panic("not equal")
		}
		buf = l.AppendBytes(buf[:0], q, &h)
		l.Free(q, &h)
		if _, err := l.ReadBytes(q, buf, &h); err != nil {
			panic(err)
		}
		l.Free(q, &h)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a row", allocs)
	}
}
