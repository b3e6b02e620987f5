package streams

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestParseCheckpoint(t *testing.T) {
	a0 := TopicPartition{"my-app-store-a-changelog", 0}
	b1 := TopicPartition{"b", 1}
	for _, c := range []struct {
		name, text string
		want       Checkpoint
		warnings   int
		err        string
	}{
		{"kafka's own", "0\n2\nmy-app-store-a-changelog 0 41\nb 1 -4\n", Checkpoint{a0: 41, b1: -4}, 0, ""},
		{"no final newline", "0\n1\nb 1 7", Checkpoint{b1: 7}, 0, ""},
		{"white space runs", "0\n1\nb \t 1  7 \n", Checkpoint{b1: 7}, 0, ""},
		{"windows lines", "0\r\n1\r\nb 1 7\r\n", Checkpoint{b1: 7}, 0, ""},
		{"none", "0\n0\n", Checkpoint{}, 0, ""},
		{"negative skipped and not counted", "0\n2\nb 1 7\nc 0 -1\n", Checkpoint{b1: 7}, 1, ""},
		{"empty file", "", nil, 0, "ends early"},
		{"version only", "0\n", nil, 0, "ends early"},
		{"version 1", "1\n1\nb 1 7\n", nil, 0, "unknown version 1"},
		{"version with space", " 0\n1\nb 1 7\n", nil, 0, "version is not a number"},
		{"count not a number", "0\nx\n", nil, 0, "number of entries is not a number"},
		{"too few", "0\n2\nb 1 7\n", nil, 0, "expected 2 entries, found 1"},
		{"too many", "0\n1\nb 1 7\nb 2 7\n", nil, 0, "expected 1 entries, found 2"},
		{"same line twice", "0\n2\nb 1 7\nb 1 7\n", nil, 0, "expected 2 entries, found 1"},
		{"two columns", "0\n1\nb 7\n", nil, 0, "line 3: expected topic"},
		{"leading space", "0\n1\n b 1 7\n", nil, 0, "line 3: expected topic"},
		{"empty line", "0\n1\nb 1 7\n\n", nil, 0, "line 4: expected topic"},
		{"partition", "0\n1\nb x 7\n", nil, 0, "partition is not a number"},
		{"offset too large", "0\n1\nb 1 9223372036854775808\n", nil, 0, "offset is not a number"},
		{"not text", "0\n1\n\xff 1 7\n", nil, 0, "not UTF-8"},
	} {
		got, warnings, err := ParseCheckpoint(strings.NewReader(c.text))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if err != nil && op.KindOf(err) != op.Corrupt {
			t.Errorf("%s: kind %v", c.name, op.KindOf(err))
		}
		if !maps.Equal(got, c.want) || len(warnings) != c.warnings {
			t.Errorf("%s: got %v, %q", c.name, got, warnings)
		}
	}
}

func TestCheckpointFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, CheckpointFile)
	if c, err := ReadCheckpoint(path); err != nil || len(c) != 0 {
		t.Fatalf("missing file: %v, %v", c, err)
	}
	want := Checkpoint{{"app-s-changelog", 2}: 41, {"app-a-changelog", 10}: OffsetUnknown, {"app-a-changelog", 9}: 0}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if s := string(text); s != "0\n3\napp-a-changelog 9 0\napp-a-changelog 10 -4\napp-s-changelog 2 41\n" {
		t.Errorf("wrote %q", s)
	}
	got, err := ReadCheckpoint(path)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	for _, bad := range []Checkpoint{{{"a", 0}: -1}, {{"a b", 0}: 1}} {
		if err := bad.Write(path); err == nil {
			t.Errorf("wrote %v", bad)
		}
	}
	if again, _ := os.ReadFile(path); !bytes.Equal(text, again) {
		t.Error("a failed write changed the file")
	}
	if err := (Checkpoint{}).Write(path); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("an empty checkpoint leaves %v", entries)
	}
	if err := want.Write(filepath.Join(dir, "gone", CheckpointFile)); err == nil {
		t.Error("wrote into a missing directory")
	}
	os.WriteFile(path, []byte("1\n0\n"), 0o600)
	if _, err := ReadCheckpoint(path); op.KindOf(err) != op.Corrupt || len(op.Tries(err)) == 0 {
		t.Errorf("bad file: %v", err)
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add("0\n2\nmy-app-store-a-changelog 0 41\nb 1 -4\n")
	f.Add("0\n1\nb 1 -9\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := ParseCheckpoint(strings.NewReader(text))
		if err != nil {
			return
		}
		data, err := c.Encode()
		if err != nil {
			return // topic names that no broker allows
		}
		again, warnings, err := ParseCheckpoint(bytes.NewReader(data))
		if err != nil || len(warnings) > 0 || !maps.Equal(c, again) {
			t.Fatalf("%v became %v, %v, %v", c, again, warnings, err)
		}
	})
}
