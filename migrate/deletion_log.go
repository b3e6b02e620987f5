package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// overtakenError says that somebody else has written where tombstones were
// written or were to be: what was planned no longer holds.
type overtakenError struct{ why string }

func (e *overtakenError) Error() string { return e.why }

// Unwrap gives the error its kind and the next step.
func (e *overtakenError) Unwrap() error {
	return op.Errorf(op.Precondition, "overtaken").WithTry("see that the application is stopped, and run it again: what is left is planned anew")
}

// reconcile finds out from the log how many tombstones of each partition are
// written: a run that was killed does not know what the broker has taken.
func reconcile(ctx context.Context, c *kafka.Client, st *deletionState) error {
	for i := range st.Deletion.Stores {
		s := &st.Deletion.Stores[i]
		ti, err := c.Topic(ctx, s.Topic)
		if op.KindOf(err) == op.NotFound || err == nil && idOf(ti) != s.TopicID {
			return &overtakenError{fmt.Sprintf("topic %q is not the one that was looked at", s.Topic)}
		}
		if err != nil {
			return err
		}
		offsets, err := c.Offsets(ctx, s.Topic, nil)
		if err != nil {
			return err
		}
		if err := checkNoTransaction(ctx, c, s.Topic, offsets); err != nil {
			return err
		}
		if len(offsets) != len(s.Parts) {
			return &overtakenError{fmt.Sprintf("topic %q has %d partitions, it had %d", s.Topic, len(offsets), len(s.Parts))}
		}
		err = st.parts(func(store int, p *DeletionPart, progress *partProgress) error {
			if store != i {
				return nil
			}
			w, err := walkTombstones(ctx, c, s.Topic, p, offsets[p.Partition].End)
			if err == nil && w.written < progress.Written {
				err = &overtakenError{fmt.Sprintf("%s-%d lacks tombstones that the broker had confirmed", s.Topic, p.Partition)}
			}
			progress.Written = w.written
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// walked is what lies between the planned end of a partition and another one.
type walked struct {
	written int64 // keys of the set, from the first, whose tombstones are written
	last    int64 // offset of the last tombstone, -1: none
	again   int64 // tombstones that were written once more
	cleaned int64 // tombstones that a cleaner has removed already
}

// walkTombstones reads a partition from its planned end up to end. Everything
// there must be a tombstone of the set, in the set's order: a producer that is
// idempotent writes in order, and a batch of a run that was killed may come
// late and repeat some. Anything else is a stranger's, an overtakenError.
func walkTombstones(ctx context.Context, c *kafka.Client, topic string, p *DeletionPart, end int64) (walked, error) {
	m := &tombWalk{walked: walked{last: -1}, set: p.Keys, off: p.End - 1, what: fmt.Sprintf("%s-%d", topic, p.Partition)}
	defer func() { m.rd.close() }()
	if end < p.End {
		return m.walked, &overtakenError{fmt.Sprintf("%s ends at %d, before the planned end %d: records are lost", m.what, end, p.End)}
	}
	if end == p.End {
		return m.walked, nil
	}
	r, err := c.OpenPartition(ctx, kafka.ReadOptions{Topic: topic, Partition: p.Partition, From: p.End, To: end, MaxBytes: 4 << 20})
	if err != nil {
		return m.walked, err
	}
	defer r.Close()
	var d kafka.Decoder
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return m.walked, nil
		}
		if err == nil {
			_, err = d.Decode(b, m.see)
		}
		if err != nil {
			return m.walked, err
		}
		r.Release(b)
	}
}

// tombWalk follows a key set along the log.
type tombWalk struct {
	walked
	set  *KeySet
	rd   *keyReader
	next []byte // the key that is expected, when have
	have bool
	idx  int64 // its place in the set
	off  int64 // of the last record
	what string
}

func (m *tombWalk) see(rec *kafka.Record) error {
	stranger := &overtakenError{fmt.Sprintf("%s has a record at offset %d that is not this run's", m.what, rec.Offset)}
	if rec.Value != nil || m.set == nil {
		return stranger
	}
	if err := m.peek(); err != nil {
		return err
	}
	if !m.have || !bytes.Equal(m.next, rec.Key) {
		was := m.idx
		found, err := m.find(rec.Key)
		if err != nil {
			return err
		}
		// Ahead of what has been seen only by as much as a cleaner took out of the log.
		if !found || m.idx > m.written && rec.Offset-m.off-1 < m.idx-was {
			return stranger
		}
		m.cleaned += max(0, m.idx-m.written)
	}
	if m.idx < m.written {
		m.again++
	}
	m.idx++
	m.have = false
	m.written = max(m.written, m.idx)
	m.last, m.off = rec.Offset, rec.Offset
	return nil
}

// peek makes the next key of the set known.
func (m *tombWalk) peek() (err error) {
	if m.rd == nil {
		if m.rd, err = m.set.open(); err != nil {
			return err
		}
	}
	if m.have {
		return nil
	}
	m.next, err = m.rd.next()
	if err == io.EOF {
		return nil
	}
	m.have = err == nil
	return err
}

// find goes to a key of the set, wherever it is.
func (m *tombWalk) find(key []byte) (bool, error) {
	m.rd.close()
	m.rd, m.have, m.idx = nil, false, 0
	for {
		if err := m.peek(); err != nil {
			return false, err
		}
		if !m.have {
			return false, nil
		}
		if bytes.Equal(m.next, key) {
			return true, nil
		}
		m.have = false
		m.idx++
	}
}
