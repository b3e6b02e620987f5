package migrate

import (
	"context"
	"fmt"
	"time"

	"sstool/internal/op"
)

// Step is one thing that a migration does. Steps are done in order; each is
// noted in the ledger when it is done, and not done again. One that was begun
// and not noted is done again: it must stand that.
type Step struct {
	ID           string  `json:"id"`   // the same in every run of a migration
	Text         string  `json:"text"` // what it does, for people
	Irreversible bool    `json:"irreversible"`
	Records      int64   `json:"records"` // it handles, about; 0 when it handles none
	Bytes        int64   `json:"bytes"`
	Done         bool    `json:"done"`
	Seconds      float64 `json:"seconds"` // it took in this run

	Do func(ctx context.Context, m *Migration, sink op.Sink) error `json:"-"`
	// Check looks, when the plan is made, whether Do could work; nil: it could.
	Check func(ctx context.Context, m *Migration) error `json:"-"`
}

// runSteps does what is left of the steps. note keeps the ledger: what is not
// on the disk has not happened.
func runSteps(ctx context.Context, m *Migration, steps []Step, note func() error, sink op.Sink) error {
	for i := range steps {
		s := &steps[i]
		if _, done := m.Done[s.ID]; done {
			s.Done = true
			continue
		}
		if err := ctx.Err(); err != nil {
			return interruptedAt(s, err)
		}
		sink.Emit(op.Event{Type: op.Phase, Name: s.ID, Message: s.Text})
		begun := time.Now()
		err := s.Do(ctx, m, sink)
		s.Seconds = time.Since(begun).Seconds()
		if err != nil {
			if ctx.Err() != nil {
				return interruptedAt(s, err)
			}
			return err
		}
		m.Done[s.ID] = time.Now().UTC().Truncate(time.Second)
		if err := note(); err != nil {
			return err
		}
		s.Done = true
		sink.Emit(op.Event{Type: op.Item, Name: s.ID, Done: s.Records, Unit: "records", Bytes: s.Bytes})
	}
	return nil
}

func interruptedAt(s *Step, err error) error {
	return &op.Error{Kind: op.Declined, What: s.Text, Err: fmt.Errorf("interrupted; the old topics and directories are as they were: %w", err), Try: "run it again for the rest"}
}
