package monitor

import (
	"strings"

	"sstool/internal/exposition"
)

// Subject is what a value is about: an instance, and of it an application, a
// task, a store. What a metric does not tell is empty.
type Subject struct {
	Instance    string `json:"instance"`
	Application string `json:"application"` // the client.id; without one the application.id
	Task        string `json:"task"`
	Store       string `json:"store"`
	Scope       string `json:"scope"` // how Kafka Streams names the kind: rocksdb, rocksdb-window, in-memory, …
}

// String is the subject as a person says it.
func (s Subject) String() string {
	var parts []string
	if s.Store != "" {
		parts = append(parts, "store "+s.Store)
	}
	if s.Task != "" {
		parts = append(parts, "task "+s.Task)
	}
	if s.Application != "" {
		parts = append(parts, "application "+s.Application)
	}
	return strings.Join(append(parts, "instance "+s.Instance), ", ")
}

// segmented says whether the store's rows leave with their segments.
func (s Subject) segmented() bool {
	return strings.Contains(s.Scope, "window") || strings.Contains(s.Scope, "session")
}

// onDisk says whether RocksDB holds the store.
func (s Subject) onDisk() bool { return !strings.HasPrefix(s.Scope, "in-memory") }

// subjectOf reads the labels of a sample. process is the id of the process, new
// with each start of it.
func subjectOf(s *exposition.Sample, source string) (sub Subject, process string) {
	sub.Instance = source
	var thread, client string
	for _, l := range s.Labels {
		// task_id, task-id, taskId and task.id are one.
		name := strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(l.Name))
		switch name {
		case "instance":
			sub.Instance = l.Value
		case "task", "taskid":
			sub.Task = l.Value
		case "thread", "threadid":
			thread = l.Value
		case "client", "clientid":
			client = l.Value
		case "store", "storename", "storeid", "statestore":
			sub.Store = l.Value
		default:
			if scope, ok := strings.CutSuffix(name, "stateid"); ok {
				sub.Store, sub.Scope = l.Value, scopeOf(scope)
			}
		}
	}
	if thread == "" {
		thread = client
	}
	sub.Application, process = clientOf(thread)
	return sub, process
}

// scopeOf writes a scope as Kafka Streams does, from the letters of its label.
func scopeOf(letters string) string {
	return strings.TrimSuffix(strings.NewReplacer("rocksdb", "rocksdb-", "inmemory", "in-memory-").Replace(letters), "-")
}

// clientOf takes the id of a thread or of a consumer apart: the client's name,
// and the id of the process when the name was made of the application's.
func clientOf(id string) (name, process string) {
	for _, role := range []string{"-StreamThread-", "-StateUpdater-", "-GlobalStreamThread", "-global-consumer"} {
		if i := strings.LastIndex(id, role); i >= 0 {
			id = id[:i]
			break
		}
	}
	const uuid = len("-00000000-0000-0000-0000-000000000000")
	if i := len(id) - uuid; i > 0 && id[i] == '-' && isUUID(id[i+1:]) {
		return id[:i], id[i+1:]
	}
	return id, ""
}

func isUUID(s string) bool {
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// restores says whether a consumer reads changelogs: those of tasks, or the
// topics of global stores.
func restores(client string) bool {
	return strings.HasSuffix(client, "-restore-consumer") || strings.HasSuffix(client, "-global-consumer")
}
