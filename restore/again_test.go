//go:build cgo

package restore

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
)

// What an earlier run restored is told as far as it goes: records that came
// since are not claimed.
func TestDoneBeforeTellsWhatItHolds(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 100, 50))
	o := options(memDir(t), kv("s"))
	k.mustRestore(t, o)
	k.produce(t, topic, numbered(0, 100, 30, 50))
	res := k.mustRestore(t, o)
	if x := res.Partitions[0]; x.State != "done before" || x.To != 100 || x.Records != 0 {
		t.Errorf("%+v", x)
	}
	if w := strings.Join(res.Warnings, "\n"); !strings.Contains(w, "up to 30 offsets have come since") {
		t.Errorf("warnings: %q", w)
	}
}

// A changelog that was deleted and made anew is another topic: what was
// restored of the old one is not done.
func TestRecreatedTopicIsNotDone(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 100, 50))
	o := options(memDir(t), kv("s"))
	k.mustRestore(t, o)
	if err := k.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	k.changelog(t, "s", 1, numbered(0, 0, 200, 50))
	_, err := k.restore(t, o)
	optest.WantKind(t, err, op.Precondition, "not empty")
}

// A forced restore that was stopped is continued; a new one does everything.
func TestForcedIsContinuedOnce(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 2, append(numbered(0, 0, 100, 50), numbered(1, 0, 100, 50)...))
	o := options(memDir(t), kv("s"))
	k.mustRestore(t, o)
	led := readLedger(o.Into, app)
	old := led.Tasks["0_1"]["s"]
	old.FinishedAt = time.Now().Add(-time.Hour)
	led.set("0_1", "s", old)
	if err := led.write(o.Into, app); err != nil {
		t.Fatal(err)
	}
	if err := files.WriteJSON(forcedFile(o.Into, app), time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	o.Force = true
	states := func() string {
		var out []string
		for _, x := range k.mustRestore(t, o).Partitions {
			out = append(out, x.State)
		}
		return strings.Join(out, ", ")
	}
	if got := states(); got != "done before, restored" {
		t.Errorf("continued: %s", got)
	}
	if got := states(); got != "restored, restored" {
		t.Errorf("forced again: %s", got)
	}
}

// What was not measured is null in JSON, never 0.
func TestUnmeasuredIsNull(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 1, numbered(0, 0, 100, 50))
	o := options(memDir(t), kv("s"))
	for _, c := range []struct{ state, rows string }{{"restored", `"live_keys":50`}, {"done before", `"live_keys":null`}} {
		res := k.mustRestore(t, o)
		data, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"state":"` + c.state + `"`, c.rows, `"stream_time":null`, `"records":`} {
			if !strings.Contains(string(data), want) {
				t.Errorf("%s: %s is not in %s", c.state, want, data)
			}
		}
	}
}
