package ledger_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
)

// failingConnector makes connections to a database whose next commits fail, perhaps after their effect.
type failingConnector struct {
	next      driver.Driver
	address   string
	hasEffect bool
	failures  atomic.Int32
}

var errLostConnection = errors.New("the connection was lost during the commit")

func (c *failingConnector) Driver() driver.Driver { return c.next }

func (c *failingConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.next.Open(c.address)
	return &failingConn{conn, c}, err
}

type failingConn struct {
	driver.Conn
	*failingConnector
}

func (c *failingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return &failingTx{tx, c.failingConnector}, err
}

type failingTx struct {
	driver.Tx
	*failingConnector
}

func (t *failingTx) Commit() error {
	if t.failures.Add(-1) < 0 {
		return t.Tx.Commit()
	}
	err := t.Tx.Rollback
	if t.hasEffect {
		err = t.Tx.Commit
	}
	return errors.Join(errLostConnection, err())
}
