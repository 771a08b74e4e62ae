package bind

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestPlayground(t *testing.T) {
	file := os.Getenv("PLAY")
	if file == "" {
		t.Skip()
	}
	p, err := NewPlanner(context.Background(), "lake")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b, _ := os.ReadFile(file)
	for _, q := range strings.Split(string(b), ";") {
		q = strings.TrimSpace(q)
		if q == "" {
			continue
		}
		fmt.Println("##", q)
		pl, err := p.Plan(context.Background(), Query{SQL: q, Sources: testSources})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(pl.Text())
		fmt.Println(pl.ExplainText())
	}
}
