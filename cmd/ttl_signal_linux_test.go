package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
)

// Ctrl-C amid the writing ends with 130 and says how to go on; the same command
// writes the rest, and no tombstone twice. Another request is refused meanwhile.
func TestTTLInterrupted(t *testing.T) {
	k, err := kafkatest.Start(kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	const topic, keys = "app-st-changelog", 8000 // more than half a minute, at the rate of the first run
	if err := k.Topic(topic, 1, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	var recs []kafkatest.Record
	for i := range keys {
		recs = append(recs, kafkatest.Record{Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v"), Timestamp: 1_700_000_000_000})
	}
	if err := k.ProduceAll(t.Context(), topic, recs...); err != nil {
		t.Fatal(err)
	}
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: k.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	end := func() int64 {
		o, err := c.Offsets(t.Context(), topic, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o[0].End
	}
	ledger := filepath.Join(t.TempDir(), "ledger.json")
	args := func(more ...string) []string {
		return append([]string{"ttl", "--bootstrap-server", k.Addrs()[0], "--application-id", "app", "--store", "st", "--kind", "kv", "--ledger", ledger, "--yes", "-o", "json"}, more...)
	}
	var said bytes.Buffer
	run := start(t, nil, &said, args("--older-than", "1h", "--rate", "200")...)
	for deadline := time.Now().Add(time.Minute); end() == keys; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no tombstone was written")
		}
	}
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := code(t, run); got != 130 || !strings.Contains(said.String(), "interrupted after") || !strings.Contains(said.String(), "run it again for the rest") {
		t.Fatalf("code %d, %s", got, said.String())
	}
	if _, err := os.Stat(ledger); err != nil {
		t.Fatal(err)
	}
	other := runWith(t, nil, args("--older-than", "2h")...)
	if other.code != 14 || !strings.Contains(other.err, "--older-than 1h") {
		t.Errorf("another request: code %d, %s", other.code, other.err)
	}
	rest := runWith(t, nil, args("--older-than", "1h")...)
	var d struct {
		Tombstones int64 `json:"tombstones"`
		Earlier    int64 `json:"tombstones_earlier"`
		Verified   int64 `json:"tombstones_verified"`
	}
	if err := json.Unmarshal([]byte(rest.out), &d); err != nil || rest.code != 0 {
		t.Fatal(rest.code, rest.err, err)
	}
	if d.Earlier == 0 || d.Tombstones+d.Earlier != keys || d.Verified != keys || end() != 2*keys {
		t.Errorf("%+v, the topic ends at %d", d, end())
	}
}
