package metadata

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// ChangeKind is the first half of an entry of changes_made, as DuckLake writes it.
type ChangeKind string

// The kinds DuckLake 1.0 writes.
const (
	CreatedSchema      ChangeKind = "created_schema"
	DroppedSchema      ChangeKind = "dropped_schema"
	CreatedTable       ChangeKind = "created_table" // also a rename
	DroppedTable       ChangeKind = "dropped_table"
	AlteredTable       ChangeKind = "altered_table" // also a comment
	CreatedView        ChangeKind = "created_view"
	DroppedView        ChangeKind = "dropped_view"
	AlteredView        ChangeKind = "altered_view"
	CreatedScalarMacro ChangeKind = "created_scalar_macro"
	DroppedScalarMacro ChangeKind = "dropped_scalar_macro"
	CreatedTableMacro  ChangeKind = "created_table_macro"
	DroppedTableMacro  ChangeKind = "dropped_table_macro"
	InsertedInto       ChangeKind = "inserted_into_table"
	DeletedFrom        ChangeKind = "deleted_from_table"
	InlinedInsert      ChangeKind = "inlined_insert"
	InlinedDelete      ChangeKind = "inlined_delete"
	InlineFlush        ChangeKind = "inline_flush"
	MergeAdjacent      ChangeKind = "merge_adjacent"
	RewriteDelete      ChangeKind = "rewrite_delete"
	CompactedTable     ChangeKind = "compacted_table" // the documentation's name for a compaction
)

// named are the kinds whose second half is a quoted name, not an id.
var named = map[ChangeKind]bool{
	CreatedSchema: true, CreatedTable: true, CreatedView: true, CreatedScalarMacro: true, CreatedTableMacro: true,
}

// Change is one entry of changes_made. Created objects have a name, all others the id of the object.
type Change struct {
	Kind   ChangeKind
	ID     int64  // of the table, view, macro or schema; 0 for created objects
	Schema string // of a created object
	Name   string // of a created object; empty for a created schema
}

// Class is what a commit means for a table's readers.
type Class int

// The classes, each stronger than the one before it when a snapshot has several.
const (
	Untouched Class = iota // the snapshot has nothing of the table
	Relocated              // inline_flush or merge_adjacent: same rows in other places
	Written                // rows were inserted or deleted
	Rewritten              // rewrite_delete: history before it can no longer be read row by row
	Altered                // columns or the comment
	Dropped
)

// SnapshotChanges is a snapshot with what was done in it.
type SnapshotChanges struct {
	Snapshot
	Changes   []Change
	Author    string
	Message   string
	ExtraInfo string
}

// Commit is the commit id and kind that one of our servers put into extra_info; ok is false for foreign commits.
func (s SnapshotChanges) Commit() (CommitInfo, bool) { return ParseCommitInfo(s.ExtraInfo) }

// Class is what the snapshot did to a table. A flush that writes delete files is recorded by DuckLake as
// deleted_from_table and inline_flush of the same table: it moves rows and changes none.
func (s SnapshotChanges) Class(tableID int64) Class {
	class := Untouched
	flush, deleted, inserted, inlined := false, false, false, false
	raise := func(c Class) {
		if c > class {
			class = c
		}
	}
	for _, c := range s.Changes {
		if c.ID != tableID || named[c.Kind] {
			continue
		}
		switch c.Kind {
		case DroppedTable:
			raise(Dropped)
		case AlteredTable:
			raise(Altered)
		case RewriteDelete:
			raise(Rewritten)
		case MergeAdjacent, CompactedTable:
			raise(Relocated)
		case InlineFlush:
			flush = true
			raise(Relocated)
		case DeletedFrom:
			deleted = true
		case InsertedInto:
			inserted = true
		case InlinedInsert, InlinedDelete:
			inlined = true
		}
	}
	// A flush of inlined deletes alone is recorded as deleted_from_table; ours say what they are.
	if info, ours := s.Commit(); ours && info.Kind == CommitMaintain && (deleted || inserted) {
		raise(Relocated)
		deleted, inserted = false, false
	}
	if inserted || inlined || deleted && !flush {
		raise(Written)
	}
	return class
}

// Touches reports whether the snapshot names the table in any way.
func (s SnapshotChanges) Touches(tableID int64) bool { return s.Class(tableID) != Untouched }

// ChangesSchema reports whether the snapshot created, dropped or altered any object.
func (s SnapshotChanges) ChangesSchema() bool {
	for _, c := range s.Changes {
		switch c.Kind {
		case InsertedInto, DeletedFrom, InlinedInsert, InlinedDelete, InlineFlush, MergeAdjacent, RewriteDelete, CompactedTable:
		default:
			return true
		}
	}
	return false
}

// Changes returns the snapshots with from < id <= to, oldest first. Expired snapshots are simply not there: who needs
// a window without gaps compares the ids.
func Changes(ctx context.Context, tx Tx, from, to int64) ([]SnapshotChanges, error) {
	rows, err := tx.Query(ctx, `SELECT s.snapshot_id, s.schema_version, s.next_catalog_id, s.next_file_id, s.snapshot_time,
		c.changes_made, c.author, c.commit_message, c.commit_extra_info
		FROM {M}ducklake_snapshot s LEFT JOIN {M}ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
		WHERE s.snapshot_id > $1 AND s.snapshot_id <= $2 ORDER BY s.snapshot_id`, from, to)
	if err != nil {
		return nil, err
	}
	out := make([]SnapshotChanges, 0, len(rows))
	for _, v := range rows {
		snap, err := scanSnapshot(v[:5])
		if err != nil {
			return nil, err
		}
		var r Row
		r.Take(v[5:])
		made := r.Text()
		sc := SnapshotChanges{Snapshot: snap, Author: r.Text(), Message: r.Text(), ExtraInfo: r.Text()}
		if r.Err() != nil {
			return nil, r.Err()
		}
		if sc.Changes, err = ParseChanges(made); err != nil {
			return nil, fmt.Errorf("snapshot %d: %w", snap.ID, err)
		}
		out = append(out, sc)
	}
	return out, nil
}

// ParseChanges reads the text of changes_made: entries `kind:id` or `kind:"schema"."name"`, separated by commas;
// names are quoted as SQL identifiers and may hold anything.
func ParseChanges(text string) ([]Change, error) {
	var out []Change
	p := changeText{text: text}
	for p.pos < len(text) {
		c, err := p.entry()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		if p.pos < len(text) {
			if text[p.pos] != ',' {
				return nil, p.bad("a comma is expected")
			}
			p.pos++
		}
	}
	return out, nil
}

type changeText struct {
	text string
	pos  int
}

func (p *changeText) bad(why string) error {
	return fmt.Errorf("metadata: changes_made %q at byte %d: %s", p.text, p.pos, why)
}

func (p *changeText) entry() (Change, error) {
	colon := strings.IndexByte(p.text[p.pos:], ':')
	if colon <= 0 {
		return Change{}, p.bad("a colon is expected")
	}
	c := Change{Kind: ChangeKind(p.text[p.pos : p.pos+colon])}
	p.pos += colon + 1
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		var err error
		if c.Schema, err = p.quoted(); err != nil {
			return Change{}, err
		}
		if p.pos < len(p.text) && p.text[p.pos] == '.' {
			p.pos++
			if c.Name, err = p.quoted(); err != nil {
				return Change{}, err
			}
		}
		return c, nil
	}
	end := p.pos
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	id, err := strconv.ParseInt(p.text[p.pos:end], 10, 64)
	if err != nil {
		return Change{}, p.bad("an id or a quoted name is expected")
	}
	c.ID = id
	p.pos = end
	return c, nil
}

func (p *changeText) quoted() (string, error) {
	if p.pos >= len(p.text) || p.text[p.pos] != '"' {
		return "", p.bad("a quoted name is expected")
	}
	var name strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		if p.text[i] != '"' {
			name.WriteByte(p.text[i])
			continue
		}
		if i+1 < len(p.text) && p.text[i+1] == '"' {
			name.WriteByte('"')
			i++
			continue
		}
		p.pos = i + 1
		return name.String(), nil
	}
	return "", p.bad("the name has no end")
}
