package inspect

import (
	"context"
	"fmt"
	"slices"

	"sstool/internal/serde"
	"sstool/internal/streams"
)

// sampleSize is how many rows a guess looks at.
const sampleSize = 64

// guess looks at the first rows of each task, to tell how columns that nobody
// stated are decoded. Without a kind nothing is guessed.
func (r *Rows) guess(ctx context.Context) error {
	told := r.key.serde != nil && r.value.serde != nil && (r.kind != streams.FKSubscription || r.foreign.serde != nil)
	if r.kind == "" || told && (!windows(r.kind) || r.windowWhy != "") {
		return nil
	}
	var sizes windowGuess
	var keys, foreign, values serde.Guesser
	for _, part := range r.parts {
		n := 0
		for _, db := range part.dbs {
			if n >= sampleSize/len(r.parts)+4 {
				break
			}
			row := Row{Kind: r.kind}
			err := db.each(r.bounds(RowsScan{}), false, func(family string, key, value []byte) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				k, err := streams.SplitRowKey(r.kind, key)
				if err != nil || k.Index {
					return nil
				}
				if n++; n > sampleSize/len(r.parts)+4 {
					return errEnough
				}
				r.fillKey(&row, &k)
				r.fillRow(&row, family, value)
				sizes.add(row.Start, row.Time)
				keys.Add(row.Key.Bytes)
				foreign.Add(row.ForeignKey.Bytes)
				if row.Value.Err == "" && row.Subscription == nil && row.List == nil {
					values.Add(row.Value.Bytes)
				}
				for _, e := range row.List {
					values.Add(e.Bytes)
				}
				return nil
			})
			if err != nil && err != errEnough && !r.passOver(err) {
				return err
			}
		}
	}
	r.guessWindow(&sizes)
	r.key.take(&keys)
	r.foreign.take(&foreign)
	r.value.take(&values)
	return nil
}

// take uses a guess, unless the column's serde was stated.
func (c *column) take(g *serde.Guesser) {
	if c.serde == nil {
		c.serde = g.Serde()
	}
}

// note adds a warning, once.
func (r *Rows) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.warn, s) {
		r.warn = append(r.warn, s)
	}
}

// again counts that an application changed files while they were read.
func (r *Rows) again(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retried += n
}
