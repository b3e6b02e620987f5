package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Deletion says which keys of which changelogs are to be deleted. It is what
// ttl and tombstone have in common: tombstones in Kafka first, then, where
// there is a state directory, the rows of the local stores.
type Deletion struct {
	Command       string          `json:"command"` // "ttl", "tombstone"
	ApplicationID string          `json:"application_id"`
	ClusterID     string          `json:"cluster_id"`
	Request       string          `json:"request"` // what was asked for, in one line
	Stores        []DeletionStore `json:"stores"`  // in this order, one whole after the other

	begun *time.Time // of the run in the ledger that this one continues
}

// DeletionStore is one store of a Deletion.
type DeletionStore struct {
	Store   string         `json:"store"`
	Kind    streams.Kind   `json:"kind"`
	Topic   string         `json:"topic"`
	TopicID string         `json:"topic_id"`
	Parts   []DeletionPart `json:"partitions"` // all of the topic
}

// DeletionPart is one partition.
type DeletionPart struct {
	Partition int32   `json:"partition"`
	End       int64   `json:"end"`  // planned: where the first tombstone goes
	Keys      *KeySet `json:"keys"` // nil: none
}

// DeletionOptions say how.
type DeletionOptions struct {
	Ledger    string          // path, see DefaultLedger
	StateDir  string          // whose local stores lose the rows as well; "" none
	Rate      float64         // tombstones per second; 0: as fast as it goes
	Timestamp int64           // of the tombstones in ms; 0: now
	Wait      time.Duration   // for members of the group to leave
	Compact   bool            // the local stores, in the end
	Target    streams.Version // for that

	round int64 // tombstones between two looks at the group; 0: roundKeys
}

// DefaultLedger is where the ledger of such a run lies: beside the
// application's directory, or, without a state directory, where the user's
// programs keep their state.
func DefaultLedger(stateDir, command, applicationID string, stores ...string) string {
	dir := filepath.Join(stateDir, ".sstool")
	if stateDir == "" {
		base := os.Getenv("XDG_STATE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				home = os.TempDir()
			}
			base = filepath.Join(home, ".local", "state")
		}
		dir = filepath.Join(base, "sstool")
	}
	name := command + "-" + applicationID + "-" + strings.Join(stores, "+")
	if len(name) > 200 { // a file's name has at most 255 bytes
		sum := sha256.Sum256([]byte(name))
		name = name[:150] + "-" + hex.EncodeToString(sum[:8])
	}
	return filepath.Join(dir, name+".json")
}

// Keys is how many keys there are in all.
func (d *Deletion) Keys() (keys, bytes int64) {
	for _, s := range d.Stores {
		k, b := s.keys()
		keys, bytes = keys+k, bytes+b
	}
	return keys, bytes
}

func (s *DeletionStore) keys() (keys, bytes int64) {
	for _, p := range s.Parts {
		if p.Keys != nil {
			keys, bytes = keys+p.Keys.Keys, bytes+p.Keys.Bytes
		}
	}
	return keys, bytes
}

func (s *DeletionStore) ends() map[int32]int64 {
	out := map[int32]int64{}
	for _, p := range s.Parts {
		out[p.Partition] = p.End
	}
	return out
}

// partitions with keys.
func (s *DeletionStore) busy() (n int) {
	for _, p := range s.Parts {
		if p.Keys != nil && p.Keys.Keys > 0 {
			n++
		}
	}
	return n
}

// Steps are what Apply does, for people.
func (d *Deletion) Steps(o DeletionOptions) []string {
	var out []string
	if d.begun != nil {
		out = append(out, fmt.Sprintf("continue the run of %s (%s)", d.begun.Local().Format(time.DateTime), d.Request))
	}
	if o.StateDir != "" {
		out = append(out, "hold the lock of "+filepath.Join(o.StateDir, d.ApplicationID))
	}
	rate := ""
	if o.Rate > 0 {
		rate = fmt.Sprintf(", at most %g a second", o.Rate)
	}
	for i := range d.Stores {
		s := &d.Stores[i]
		keys, _ := s.keys()
		if keys == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("write %d tombstones to %d partitions of %s%s; this cannot be undone", keys, s.busy(), s.Topic, rate),
			fmt.Sprintf("read %s back from the planned ends and compare", s.Topic))
	}
	if o.StateDir != "" {
		for i := range d.Stores {
			if keys, _ := d.Stores[i].keys(); keys > 0 {
				out = append(out, fmt.Sprintf("delete the rows of %s in %s, and move the offsets of stores that were up to date to the last tombstone", d.Stores[i].Store, o.StateDir))
			}
		}
		if o.Compact {
			out = append(out, "compact those stores")
		}
	}
	return out
}

// deletionState is the ledger of a Deletion.
type deletionState struct {
	Format   int            `json:"format"`
	Begun    time.Time      `json:"begun_at"`
	Deletion Deletion       `json:"deletion"`
	Progress []partProgress `json:"progress"` // in the order of stores and partitions
}

// partProgress is how far a partition has come. What the log says counts more.
type partProgress struct {
	Written  int64 `json:"written"`  // tombstones that the broker has confirmed
	Verified bool  `json:"verified"` // all of them were read back
}

const deletionFormat = 1

func (s *deletionState) check() error {
	if s.Format != deletionFormat {
		return fmt.Errorf("its format is %d, this sstool writes %d", s.Format, deletionFormat)
	}
	n := 0
	for i := range s.Deletion.Stores {
		n += len(s.Deletion.Stores[i].Parts)
	}
	if n != len(s.Progress) {
		return fmt.Errorf("it has %d partitions and the progress of %d", n, len(s.Progress))
	}
	return nil
}

// keysDir holds the keys while a run is unfinished.
func keysDir(ledger string) string { return strings.TrimSuffix(ledger, ".json") + ".keys" }

func keysFile(ledger string, store int, partition int32) string {
	return filepath.Join(keysDir(ledger), fmt.Sprintf("%d-%d", store, partition))
}

// parts calls fn for every partition with its progress.
func (s *deletionState) parts(fn func(store int, part *DeletionPart, progress *partProgress) error) error {
	n := 0
	for i := range s.Deletion.Stores {
		for j := range s.Deletion.Stores[i].Parts {
			if err := fn(i, &s.Deletion.Stores[i].Parts[j], &s.Progress[n]); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

// begin makes a new run durable: the keys, then the ledger.
func beginDeletion(l *ledger[deletionState], d *Deletion) error {
	dir := keysDir(l.path)
	if err := os.RemoveAll(dir); err != nil { // of a run that was killed while it began
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	l.State = deletionState{Format: deletionFormat, Begun: time.Now().UTC().Truncate(time.Second), Deletion: *d}
	l.State.Deletion.Stores = slices.Clone(d.Stores)
	for i := range d.Stores {
		l.State.Progress = append(l.State.Progress, make([]partProgress, len(d.Stores[i].Parts))...)
	}
	err := l.State.parts(func(store int, p *DeletionPart, _ *partProgress) error {
		if p.Keys == nil {
			return nil
		}
		return p.Keys.moveTo(keysFile(l.path, store, p.Partition))
	})
	if err != nil {
		return err
	}
	if err := errors.Join(files.SyncDir(dir), files.SyncDir(filepath.Dir(dir))); err != nil {
		return err
	}
	return l.save()
}

// endDeletion forgets a run.
func endDeletion(l *ledger[deletionState]) error {
	if err := l.remove(); err != nil {
		return err
	}
	return os.RemoveAll(keysDir(l.path))
}

// ContinueDeletion is the unfinished run of the ledger, to be applied again.
// Without one it is nil; then note says so when there was one that has been
// overtaken: the application has run since, and what is left is to be planned
// anew. A run that asked for something else is refused.
func ContinueDeletion(ctx context.Context, c *kafka.Client, o DeletionOptions, request string) (d *Deletion, note string, err error) {
	l, found, err := openLedger[deletionState](o.Ledger)
	if err != nil || !found {
		l.close()
		return nil, "", err
	}
	defer l.close()
	if err := l.State.check(); err != nil {
		return nil, "", op.Errorf(op.Corrupt, "ledger %s: %w", o.Ledger, err)
	}
	st := &l.State
	begun := st.Begun.Local().Format(time.DateTime)
	if st.Deletion.Request != request {
		return nil, "", op.Errorf(op.Precondition, "the run of %s is unfinished, and was another one: %s", begun, st.Deletion.Request).
			WithTry("run that one again to finish it, or remove %s to give it up: the tombstones that it has written stay", o.Ledger)
	}
	if err := loadKeys(l); err != nil {
		return nil, "", err
	}
	if err := checkCluster(ctx, c, st.Deletion.ClusterID); err != nil {
		return nil, "", err
	}
	err = reconcile(ctx, c, st)
	var over *overtakenError
	if errors.As(err, &over) {
		if err := endDeletion(l); err != nil {
			return nil, "", err
		}
		return nil, fmt.Sprintf("the run of %s was not finished and is overtaken (%s): it is planned anew", begun, over.why), nil
	}
	if err != nil {
		return nil, "", err
	}
	d = &st.Deletion
	d.begun = &st.Begun
	return d, fmt.Sprintf("continuing the run of %s", begun), nil
}

// loadKeys finds the keys of the ledger's run.
func loadKeys(l *ledger[deletionState]) error {
	return l.State.parts(func(store int, p *DeletionPart, _ *partProgress) error {
		if p.Keys == nil {
			return nil
		}
		p.Keys.path = keysFile(l.path, store, p.Partition)
		if err := p.Keys.check(); err != nil {
			return fmt.Errorf("ledger %s: %w", l.path, err)
		}
		return nil
	})
}
