package inspect

import (
	"fmt"

	"sstool/internal/lsm"
)

// MapLog is what the LOG files of a store's databases say, which RocksDB itself
// writes: since each was opened last. Kafka Streams lets it write errors only.
type MapLog struct {
	Files      int          `json:"files"`
	Size       int64        `json:"size_bytes"`
	Unread     int          `json:"files_not_read"` // too much in all, or not readable
	Versions   []string     `json:"rocksdb_versions"`
	Errors     int          `json:"errors"`
	Warnings   int          `json:"warnings"`
	Delays     int          `json:"write_delays"`
	Stops      int          `json:"write_stops"`
	StallMs    int64        `json:"stall_ms"`
	LastErrors []MapLogLine `json:"last_errors"`
	LastStalls []MapLogLine `json:"last_stalls"`
}

// MapLogLine is one message.
type MapLogLine struct {
	Database string `json:"database"`
	Time     string `json:"time"` // as written, the process's local time
	Level    string `json:"level"`
	Text     string `json:"text"`
}

const (
	logsAll  = 64 << 20 // bytes of LOG files that are read in all
	logLines = 5        // messages told of a store
)

// readLog reads the database's LOG, unless it is empty, as it mostly is.
func (r *dbReader) readLog(f *dbFacts) {
	if f.logSize <= 0 || r.logs.Add(min(f.logSize, 4<<20)) > logsAll {
		return
	}
	if s, err := (&lsm.DB{Dir: f.Dir}).ReadLog(); err == nil {
		f.log = &s
	}
}

// mapLog adds up the LOG files of a store; nil when there is none.
func mapLog(dbs []*dbFacts) *MapLog {
	var m MapLog
	versions := map[string]bool{}
	for _, f := range dbs {
		if f.logSize < 0 {
			continue
		}
		m.Files++
		m.Size += f.logSize
		s := f.log
		if s == nil {
			if f.logSize > 0 {
				m.Unread++
			}
			continue
		}
		if s.Version != "" && !versions[s.Version] {
			versions[s.Version] = true
			m.Versions = append(m.Versions, s.Version)
		}
		m.Errors, m.Warnings = m.Errors+s.ErrorCount, m.Warnings+s.Warnings
		m.Delays, m.Stops, m.StallMs = m.Delays+s.Stalls.Delays, m.Stops+s.Stalls.Stops, m.StallMs+s.Stalls.Time.Milliseconds()
		m.LastErrors = lastLines(m.LastErrors, f.Dir, s.Errors)
		m.LastStalls = lastLines(m.LastStalls, f.Dir, s.Stalls.Last)
	}
	if m.Files == 0 {
		return nil
	}
	return &m
}

func lastLines(have []MapLogLine, dir string, lines []lsm.LogLine) []MapLogLine {
	for _, l := range lines[max(0, len(lines)-logLines):] {
		have = append(have, MapLogLine{dir, l.Time, l.Level, l.Text})
	}
	return have[max(0, len(have)-logLines):]
}

// remarks are what the LOG says that a person should know.
func (m *MapLog) remarks() (out []Remark) {
	if m == nil {
		return nil
	}
	if n := len(m.LastErrors); n > 0 {
		l := m.LastErrors[n-1]
		out = append(out, Remark{Warning, fmt.Sprintf("RocksDB's LOG has %d errors since it was opened, the last at %s: %s", m.Errors, l.Time, l.Text), l.Database, "the file LOG there has them all"})
	}
	if n := len(m.LastStalls); n > 0 {
		l := m.LastStalls[n-1]
		out = append(out, Remark{Warning, fmt.Sprintf("RocksDB's LOG: writers were slowed down %d times and stopped %d times, the last at %s: %s", m.Delays, m.Stops, l.Time, l.Text), l.Database,
			"writes outran compaction: look at sstool inspect levels"})
	}
	return out
}
