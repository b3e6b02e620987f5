package snapshot

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// manifestVersion is the version of the manifest's form that is written, and
// the newest that is read.
const manifestVersion = 1

// Bounds of what is believed of a manifest.
const (
	maxManifest = 256 << 20
	maxFiles    = 4 << 20
	maxFileSize = 1 << 50
)

// Manifest says what a snapshot consists of. It is the JSON document in the
// bucket and in the output.
type Manifest struct {
	Kind          string    `json:"kind"`    // "snapshot.manifest"
	Version       int       `json:"version"` // of this form
	ID            string    `json:"id"`
	ApplicationID string    `json:"application_id"`
	Created       time.Time `json:"created"` // by the clock of the host
	Host          string    `json:"host"`
	MadeBy        string    `json:"made_by"` // "sstool 0.1.0"
	Source        string    `json:"source"`  // what was pushed: "stopped" or "checkpoint"
	Guarantee     string    `json:"processing_guarantee"`
	ClusterID     string    `json:"cluster_id"`    // "" when no cluster was asked
	KafkaVersion  string    `json:"kafka_version"` // of the application; "" when not known
	Space         string    `json:"space"`         // where its objects are: "plain", "age-…"
	Tasks         []Task    `json:"tasks"`
}

// Task is a task directory. Whole tasks are pushed: exactly-once needs every
// store of one.
type Task struct {
	Name   string  `json:"task"` // "0_1", "global"
	Stores []Store `json:"stores"`
	Files  []File  `json:"files"` // of no store: .checkpoint, positions
}

// Store is one store of a task.
type Store struct {
	Name      string    `json:"store"`
	Kind      string    `json:"store_kind"` // "" when it is not known
	Segmented bool      `json:"segmented"`
	Databases int       `json:"databases"`
	Families  []string  `json:"families"`
	RocksDB   string    `json:"rocksdb"` // version that wrote it; "" when not known
	Written   time.Time `json:"written"` // its newest file, or its offset
	Offsets   []Offset  `json:"offsets"`
	Files     []File    `json:"files"`
}

// Offset is how far a store has come in its changelog, as its home says: the
// last applied record, or of a global store the next one.
type Offset struct {
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id"` // "" when no cluster was asked
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Home      string `json:"home"` // ".checkpoint", or "offsets": the column family
}

// File is one file of a task directory. Content is found by hash.
type File struct {
	Path     string    `json:"path"` // below the task's directory, with slashes
	Size     int64     `json:"size"`
	SHA256   string    `json:"sha256"` // of the plain content
	Modified time.Time `json:"modified"`
}

// NewID makes the id of a snapshot: the time, then what makes it unique.
func NewID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(b[:])
}

// ValidID says whether s has the form of a snapshot's id.
func ValidID(s string) bool {
	const form = "00000000T000000.000Z-hhhhhhhh"
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; form[i] {
		case '0':
			if c < '0' || c > '9' {
				return false
			}
		case 'h':
			if !isHex(c) {
				return false
			}
		default:
			if c != form[i] {
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// hexOf says whether s is n hexadecimal digits.
func hexOf(s string, n int) bool {
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
	}
	return len(s) == n
}

func validSpace(s string) bool {
	rest, ok := strings.CutPrefix(s, "age-")
	return s == plainSpace || ok && hexOf(rest, 16)
}

func validTask(s string) bool {
	_, err := streams.ParseTaskID(s)
	return err == nil || s == streams.GlobalDir
}

// validName is a name as Kafka lets applications, stores and topics have.
func validName(s string) bool {
	return len(s) > 0 && len(s) <= 249 && s != "." && s != ".." && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}

// AllFiles calls fn with every file, and the task it is of.
func (m *Manifest) AllFiles(fn func(t *Task, f *File)) {
	for i := range m.Tasks {
		t := &m.Tasks[i]
		for j := range t.Files {
			fn(t, &t.Files[j])
		}
		for j := range t.Stores {
			for k := range t.Stores[j].Files {
				fn(t, &t.Stores[j].Files[k])
			}
		}
	}
}

// Size is the number of files and their bytes.
func (m *Manifest) Size() (n int, bytes int64) {
	m.AllFiles(func(_ *Task, f *File) {
		n++
		bytes += f.Size
	})
	return n, bytes
}

// Task finds a task by its name.
func (m *Manifest) Task(name string) *Task {
	for i := range m.Tasks {
		if m.Tasks[i].Name == name {
			return &m.Tasks[i]
		}
	}
	return nil
}

// DecodeManifest reads a manifest and believes nothing: what it names stays
// below the directory it will be written to.
func DecodeManifest(data []byte) (*Manifest, error) {
	if len(data) > maxManifest {
		return nil, op.Errorf(op.Corrupt, "larger than %d bytes", maxManifest)
	}
	var head struct {
		Kind    string `json:"kind"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, op.Errorf(op.Corrupt, "not a manifest: %w", err)
	}
	if head.Kind != "snapshot.manifest" || head.Version < 1 {
		return nil, op.Errorf(op.Corrupt, "not a manifest: kind %.40q, version %d", head.Kind, head.Version)
	}
	if head.Version > manifestVersion {
		return nil, op.Errorf(op.Failed, "a newer sstool wrote it: its form has version %d, this one reads up to %d", head.Version, manifestVersion)
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(m); err != nil {
		return nil, op.Errorf(op.Corrupt, "not a manifest: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check refuses what a push would never write.
func (m *Manifest) check() error {
	switch {
	case !ValidID(m.ID):
		return op.Errorf(op.Corrupt, "bad snapshot id %.60q", m.ID)
	case !validName(m.ApplicationID):
		return op.Errorf(op.Corrupt, "bad application id %.60q", m.ApplicationID)
	case !validSpace(m.Space):
		return op.Errorf(op.Corrupt, "bad object space %.60q", m.Space)
	}
	tasks := map[string]bool{}
	files := 0
	for i := range m.Tasks {
		t := &m.Tasks[i]
		if !validTask(t.Name) || tasks[t.Name] {
			return op.Errorf(op.Corrupt, "bad or repeated task %.60q", t.Name)
		}
		tasks[t.Name] = true
		if err := t.check(); err != nil {
			return op.Errorf(op.Corrupt, "task %s: %w", t.Name, err)
		}
	}
	var bytes int64
	m.AllFiles(func(_ *Task, f *File) {
		files++
		bytes = min(bytes+f.Size, maxFileSize+1) // a sum that overflows would be none
	})
	if files > maxFiles || bytes > maxFileSize {
		return op.Errorf(op.Corrupt, "%d files of %d bytes are more than any state has", files, bytes)
	}
	return nil
}

// check holds every file in its place: a store's below the store, no two with
// one path, none below another.
func (t *Task) check() error {
	seen := map[string]bool{}
	dirs := map[string]bool{}
	add := func(f *File, below string) error {
		switch {
		case !validPath(f.Path) || below != "" && !strings.HasPrefix(f.Path, below+"/") || below == "" && strings.Contains(f.Path, "/"):
			return op.Errorf(op.Corrupt, "bad path %.120q", f.Path)
		case seen[f.Path] || dirs[f.Path]:
			return op.Errorf(op.Corrupt, "two files at %.120q", f.Path)
		case f.Size < 0 || f.Size > maxFileSize:
			return op.Errorf(op.Corrupt, "%.120q: bad size %d", f.Path, f.Size)
		case !hexOf(f.SHA256, 64):
			return op.Errorf(op.Corrupt, "%.120q: bad hash %.80q", f.Path, f.SHA256)
		}
		seen[f.Path] = true
		for d := path.Dir(f.Path); d != "."; d = path.Dir(d) {
			if seen[d] {
				return op.Errorf(op.Corrupt, "%.120q is a file and a directory", d)
			}
			dirs[d] = true
		}
		return nil
	}
	stores := map[string]bool{}
	for i := range t.Stores {
		s := &t.Stores[i]
		if !validName(s.Name) || stores[s.Dir()] {
			return op.Errorf(op.Corrupt, "bad or repeated store %.120q", s.Name)
		}
		stores[s.Dir()] = true
		for j := range s.Files {
			if err := add(&s.Files[j], s.Dir()); err != nil {
				return err
			}
		}
	}
	for i := range t.Files {
		if err := add(&t.Files[i], ""); err != nil {
			return err
		}
	}
	return nil
}

// Dir is the store's directory below the task's, with slashes.
func (s *Store) Dir() string {
	if s.Segmented {
		return s.Name
	}
	return "rocksdb/" + s.Name
}

// validPath is a clean relative path of plain names.
func validPath(p string) bool {
	return len(p) <= 4096 && utf8.ValidString(p) && fs.ValidPath(p) && p != "." && !strings.ContainsAny(p, "\\\x00") && !strings.ContainsFunc(p, func(r rune) bool { return r < 32 || r == 127 })
}

// encode is the manifest as it is stored.
func (m *Manifest) encode() ([]byte, error) {
	m.Kind, m.Version = "snapshot.manifest", manifestVersion
	if err := m.check(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(m, "", " ")
}
