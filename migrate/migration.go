package migrate

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zeebo/xxh3"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// Migration is what a migration file holds: what is moved, how far it has come,
// and where each offset of the old topics is in the new ones. It is the ledger
// of the run, what finish and abort go by, and what other hosts need to clone
// their directories.
type Migration struct {
	Format    int       `json:"format"` // of this file
	Kind      string    `json:"migration"`
	ID        string    `json:"id"`
	ClusterID string    `json:"cluster_id"`
	OldApp    string    `json:"old_application_id"`
	NewApp    string    `json:"new_application_id"`
	Begun     time.Time `json:"begun_at"`

	Moves  []StoreMove   `json:"moves"`
	Topics []CopiedTopic `json:"topics"`
	ACLs   []kafka.ACL   `json:"acls"` // that were made for the new topics

	Done      map[string]time.Time `json:"done"`         // steps
	Completed *time.Time           `json:"completed_at"` // all of them
	Finished  *time.Time           `json:"finished_at"`  // the old was removed
	Aborted   *time.Time           `json:"aborted_at"`   // the new was removed
}

// CopiedTopic is a topic and its copy, as far as it has come.
type CopiedTopic struct {
	TopicMove
	OldID      string            `json:"old_topic_id"`
	NewID      string            `json:"new_topic_id"` // "" before it was created
	Replicas   int               `json:"replication_factor"`
	Overrides  map[string]string `json:"overrides"` // set on the old topic, and on the new one in the end
	Partitions []CopiedPartition `json:"partitions"`
}

// CopiedPartition is a partition of a copy. What is in Map and All has been
// confirmed by the broker.
type CopiedPartition struct {
	Partition int32              `json:"partition"`
	End       int64              `json:"end"` // of the old one, to be reached
	Map       *OffsetMap         `json:"offset_map"`
	All       table.Digest       `json:"digest"` // of all records that were copied
	Verified  *VerifiedPartition `json:"verified"`
}

// VerifiedPartition is what the comparison of a partition and its copy found.
type VerifiedPartition struct {
	Records    int64  `json:"records"` // in the copy
	Keys       int64  `json:"keys"`    // whose newest record has a value
	All        string `json:"digest_records"`
	Table      string `json:"digest_table"`
	Cleaned    bool   `json:"old_was_cleaned"`  // a cleaner removed superseded records of the old topic meanwhile
	Unmeasured string `json:"table_unmeasured"` // why the tables were not compared; "" when they were
}

// Kinds of migrations.
const (
	Rename             = "rename"
	TopologyMigration  = "topology"
	ApplicationChanged = "application"
)

const migrationFormat = 1

// Maps are the offset maps of the copied topics.
func (m *Migration) Maps() Maps {
	out := Maps{}
	for i := range m.Topics {
		t := &m.Topics[i]
		tm := &TopicMap{Old: t.Old, New: t.New, OldTopicID: t.OldID, NewTopicID: t.NewID}
		for j := range t.Partitions {
			tm.Partitions = append(tm.Partitions, t.Partitions[j].Map)
		}
		out[t.Old] = tm
	}
	return out
}

// topic finds a topic by its old name.
func (m *Migration) topic(old string) *CopiedTopic {
	for i := range m.Topics {
		if m.Topics[i].Old == old {
			return &m.Topics[i]
		}
	}
	return nil
}

// done says whether a step is noted.
func (m *Migration) done(id string) bool {
	_, ok := m.Done[id]
	return ok
}

// State is how far the migration is, in a word.
func (m *Migration) State() string {
	switch {
	case m.Aborted != nil:
		return "aborted"
	case m.Finished != nil:
		return "finished"
	case m.Completed != nil:
		return "completed"
	}
	return "begun"
}

// migrationID names a migration: the same moves, in the same cluster, give the
// same name, which is legal for a file.
func migrationID(kind, cluster, oldApp, newApp string, moves []StoreMove, topics []TopicMove) string {
	var names []string
	for _, m := range moves {
		names = append(names, fmt.Sprint(m.OldStore, " ", m.NewStore, " ", sub(m.OldSub), " ", sub(m.NewSub), " ", m.OldTopic, " ", m.NewTopic))
	}
	for _, t := range topics {
		names = append(names, t.Old+" "+t.New)
	}
	slices.Sort(names)
	sum := xxh3.HashString(strings.Join(append([]string{kind, cluster, oldApp, newApp}, names...), "\n"))
	app := oldApp
	if len(app) > 100 {
		app = app[:100]
	}
	return fmt.Sprintf("%s-%s-%08x", kind, app, uint32(sum))
}

func sub(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// ReadMigration reads a migration file.
func ReadMigration(path string) (*Migration, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, op.Errorf(op.NotFound, "there is no migration file %s", path).WithTry("sstool rename and sstool migrate print its path at their end")
	}
	if errors.Is(err, syscall.EISDIR) {
		return nil, op.Errorf(op.Usage, "%s is a directory, not a migration file", path)
	}
	if err != nil {
		return nil, op.Errorf(op.Failed, "read migration file: %w", err)
	}
	m, err := ParseMigration(data)
	if err != nil {
		return nil, op.Errorf(op.Usage, "%s is not a migration file: %w", path, err)
	}
	return m, nil
}

// ParseMigration reads the content of a migration file.
func ParseMigration(data []byte) (*Migration, error) {
	m := &Migration{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check refuses what no migration writes: names in it become paths and topics.
func (m *Migration) check() error {
	if m.Format != migrationFormat {
		return fmt.Errorf("its format is %d, this sstool reads %d", m.Format, migrationFormat)
	}
	if !slices.Contains([]string{Rename, TopologyMigration, ApplicationChanged}, m.Kind) {
		return fmt.Errorf("unknown migration %q", m.Kind)
	}
	if err := streams.ValidateTopic(m.ID); err != nil {
		return fmt.Errorf("id: %w", err)
	}
	if err := cmp.Or(streams.ValidateApplicationID(m.OldApp), streams.ValidateApplicationID(m.NewApp)); err != nil {
		return err
	}
	for i := range m.Moves {
		if err := m.Moves[i].check(); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i := range m.Topics {
		t := &m.Topics[i]
		if err := cmp.Or(streams.ValidateTopic(t.Old), streams.ValidateTopic(t.New)); err != nil {
			return err
		}
		if !streams.IsInternalTopic(m.OldApp, t.Old) || !streams.IsInternalTopic(m.NewApp, t.New) {
			return fmt.Errorf("topics %q and %q are not both internal ones of %q and %q", t.Old, t.New, m.OldApp, m.NewApp)
		}
		if seen[t.Old] || t.Old == t.New {
			return fmt.Errorf("topic %q is moved twice, or onto itself", t.Old)
		}
		seen[t.Old] = true
		for j := range t.Partitions {
			if p := &t.Partitions[j]; p.Map == nil || p.Partition != int32(j) {
				return fmt.Errorf("topic %q: partition %d has no offset map", t.Old, j)
			}
		}
	}
	if m.Done == nil {
		m.Done = map[string]time.Time{}
	}
	return nil
}

// check refuses names that are none.
func (s *StoreMove) check() error {
	for _, x := range []struct{ app, store string }{{s.OldApp, s.OldStore}, {s.NewApp, s.NewStore}} {
		if err := cmp.Or(streams.ValidateApplicationID(x.app), streams.ValidateStoreName(x.app, x.store)); err != nil {
			return err
		}
	}
	for _, topic := range []string{s.OldTopic, s.NewTopic} {
		if topic == "" {
			continue
		}
		if err := streams.ValidateTopic(topic); err != nil {
			return err
		}
	}
	if s.OldSub != nil && *s.OldSub < 0 || s.NewSub != nil && *s.NewSub < 0 {
		return fmt.Errorf("store %q: a sub-topology below 0", s.OldStore)
	}
	return nil
}

// topicID is a topic's id as Kafka's own tools write it.
func topicID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
