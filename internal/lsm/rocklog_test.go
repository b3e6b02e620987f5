package lsm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

func logOf(t *testing.T, text string) LogSummary {
	t.Helper()
	d := &DB{Dir: t.TempDir()}
	write(t, filepath.Join(d.Dir, "LOG"), []byte(text))
	write(t, filepath.Join(d.Dir, "LOG.old.1700000000000000"), []byte("2026/11/29-20:28:46.462258 1 [ERROR] [x.cc:1] long ago\n"))
	s, err := d.ReadLog()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReadLog reads lines that RocksDB 10.10.1 wrote.
func TestReadLog(t *testing.T) {
	b, err := os.ReadFile("testdata/log/LOG")
	if err != nil {
		t.Fatal(err)
	}
	s := logOf(t, string(b))
	if s.Version != "10.10.1" || s.SessionID != "YNGCN3B8LNV0UVQMF253" || s.First != "2026/11/29-20:28:46.462258" || s.Last != "2026/11/29-20:28:52.262215" {
		t.Errorf("%+v", s)
	}
	if s.ErrorCount != 0 || s.Warnings != 5 || s.Flushes != 2 || s.Skipped != 0 {
		t.Errorf("%d errors, %d warnings, %d flushes, %d skipped", s.ErrorCount, s.Warnings, s.Flushes, s.Skipped)
	}
	if st := s.Stalls; st.Stops != 2 || st.Delays != 3 || st.Time != 2600*time.Millisecond || st.Percent != 86.5 || len(st.Last) != 5 {
		t.Errorf("stalls %+v", st)
	}
	if !strings.Contains(s.Stalls.Last[1].Text, "because we have 4 level-0 files") || s.Stalls.Last[1].Level != "WARN" {
		t.Errorf("%+v", s.Stalls.Last[1])
	}
	if c := s.Compacted; c.Count != 2 || c.InputRecords == 0 || c.OutputRecords == 0 || c.OutputBytes == 0 || c.Time == 0 {
		t.Errorf("compactions %+v", c)
	}
}

func TestReadLogErrors(t *testing.T) {
	const line = "2026/11/29-20:28:46.462258 7 [ERROR] [/db_impl/db_impl_compaction_flush.cc:2] Waiting after background error: IO error: No space left on device\n"
	s := logOf(t, strings.Repeat(line, 30)+"2026/11/29-20:28:47.000000 7 [FATAL] [x.cc:1] last")
	if s.ErrorCount != 31 || len(s.Errors) != logLines || s.Errors[logLines-1].Text != "[x.cc:1] last" || s.Errors[logLines-1].Level != "FATAL" {
		t.Errorf("%d errors, %d kept: %+v", s.ErrorCount, len(s.Errors), s.Errors)
	}
	if s := logOf(t, ""); s.Size != 0 || s.Version != "" || s.Errors == nil {
		t.Errorf("an empty LOG, as Kafka Streams leaves it: %+v", s)
	}
	if _, err := (&DB{Dir: t.TempDir()}).ReadLog(); op.KindOf(err) != op.NotFound {
		t.Errorf("no LOG: %v, want not found", err)
	}
	big := "2026/11/29-20:28:46.462258 1 RocksDB version: 9.7.3\n" + strings.Repeat(line, 100000)
	s = logOf(t, big)
	if s.Version != "9.7.3" || s.Skipped != int64(len(big)-logHead-logTail) || s.ErrorCount == 0 || s.ErrorCount >= 100000 {
		t.Errorf("a large LOG: version %q, %d skipped, %d errors", s.Version, s.Skipped, s.ErrorCount)
	}
}

func FuzzLog(f *testing.F) {
	b, err := os.ReadFile("testdata/log/LOG")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("Cumulative stall: 99999:99:1e5 H:M:S, NaN percent\n2026/11/29-20:28:46.462258 1 EVENT_LOG_v1 {\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s LogSummary
		s.parse(b)
		if len(s.Errors) > logLines || len(s.Stalls.Last) > logLines {
			t.Errorf("%d errors and %d stalls kept", len(s.Errors), len(s.Stalls.Last))
		}
		if s.Stalls.Percent < 0 || s.Stalls.Percent > 100 || s.Stalls.Time < 0 {
			t.Errorf("stalls %+v", s.Stalls)
		}
	})
}
