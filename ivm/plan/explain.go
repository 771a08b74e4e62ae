package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// Row is a row of EXPLAIN STREAMING: one node. An empty text is NULL.
type Row struct {
	NodeID       int    `json:"node_id"`
	ParentID     int    `json:"parent_id"` // -1 is NULL: the root
	Operator     string `json:"operator"`
	Detail       string `json:"detail"`
	InputMode    string `json:"input_mode"`
	OutputMode   string `json:"output_mode"`
	Key          string `json:"key"`
	StateKind    string `json:"state_kind"`
	StateBound   string `json:"state_bound"`
	Watermark    string `json:"watermark"`
	WindowOrTTL  string `json:"window_or_ttl"`
	Partitioning string `json:"partitioning"`
	Admitted     bool   `json:"admitted"`
	Reason       string `json:"reason"`
}

// Explain is one row for each node, a node before its inputs.
func (p *Plan) Explain() []Row {
	rows := make([]Row, len(p.Nodes))
	for k, i := range p.Nodes {
		cols := i.Node.Columns()
		r := Row{
			NodeID: i.ID, ParentID: i.Parent, Operator: i.Operator, Detail: i.Detail, InputMode: i.Input.String(), OutputMode: i.Output.String(),
			Key: "row", StateKind: i.State.String(), StateBound: i.StateBound, Partitioning: i.partitioning(), Admitted: len(i.Reasons) == 0,
		}
		if _, leaf := i.Node.(*Scan); leaf || len(i.Node.Inputs()) == 0 {
			r.InputMode = i.Output.String()
		}
		if key := i.Identity(); key != nil {
			parts := make([]string, len(key))
			for j, c := range key {
				if parts[j] = cols[c].Name; parts[j] == "" {
					parts[j] = fmt.Sprintf("#%d", c)
				}
			}
			r.Key = "(" + strings.Join(parts, ", ") + ")"
		}
		if i.Choice {
			r.Detail = strings.TrimSpace(r.Detail + "; ties by the whole row")
		}
		if w, ok := i.Node.(*Window); ok && len(w.Partition) == 0 {
			r.Detail += "; one partition: each change evaluates it all"
		}
		if _, shared := i.Node.(*Shared); shared {
			r.Detail += " for" + readers(i.Readers)
		}
		if i.Watermark >= 0 {
			r.Watermark = cols[i.Watermark].Name
			if d := i.delays(); d != "" {
				r.Watermark += " - " + d
			}
		}
		r.WindowOrTTL = i.window(cols)
		reasons := make([]string, len(i.Reasons))
		for j, reason := range i.Reasons {
			reasons[j] = reason.String()
		}
		r.Reason = strings.Join(reasons, "\n")
		rows[k] = r
	}
	return rows
}

// readers names nodes, each once.
func readers(ids []int) (out string) {
	for i, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if i > 0 {
			out += ","
		}
		out += fmt.Sprintf(" #%d", id)
	}
	return out
}

// window is what lets state go: an event-time window, or the clock.
func (i *Info) window(cols []Column) string {
	switch n := i.Node.(type) {
	case *Temporal:
		return i.Detail
	case *Aggregate:
		if i.Windowed {
			return nameText(n.Groups[i.Watermark], n.Input.Columns())
		}
	case *DistinctRows:
		if i.Windowed {
			return cols[i.Watermark].Name
		}
	}
	return ""
}

// JSON is the plan with its rows nested as its nodes are.
func (p *Plan) JSON() string {
	type node struct {
		Row
		Inputs []*node `json:"inputs,omitempty"`
	}
	rows := p.Explain()
	nodes := make([]*node, len(rows))
	for k := range rows {
		nodes[k] = &node{Row: rows[k]}
		if parent := rows[k].ParentID; parent >= 0 {
			nodes[parent].Inputs = append(nodes[parent].Inputs, nodes[k])
		}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(map[string]any{"admitted": p.Admitted(), "reasons": p.Reasons, "plan": nodes[0]}); err != nil {
		panic("plan: rows must encode: " + err.Error())
	}
	return b.String()
}

// ExplainText is the rows as a table for people.
func (p *Plan) ExplainText() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	depth := map[int]int{-1: -1}
	fmt.Fprintln(w, "operator\tin\tout\tkey\tstate\tbound\twatermark\twindow\tpartitioning")
	for _, r := range p.Explain() {
		depth[r.NodeID] = depth[r.ParentID] + 1
		fmt.Fprintf(w, "%s#%d %s %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", strings.Repeat("  ", depth[r.NodeID]), r.NodeID, r.Operator, r.Detail,
			r.InputMode, r.OutputMode, r.Key, r.StateKind, r.StateBound, r.Watermark, r.WindowOrTTL, r.Partitioning)
	}
	w.Flush()
	for _, r := range p.Reasons {
		b.WriteString("refused: " + r.String() + "\n")
	}
	return b.String()
}
