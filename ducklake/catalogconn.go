package ducklake

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// catalogStatements is how many statements a connection to the catalog keeps prepared; a publication runs about twenty.
const catalogStatements = 128

func (l *Lake) connectCatalog() (metadata.Conn, error) {
	c, err := l.db.Connect()
	if err != nil {
		return nil, err
	}
	if err := c.Keep(context.Background(), catalogStatements); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
