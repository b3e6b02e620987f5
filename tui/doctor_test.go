package tui

import (
	"strings"
	"testing"

	"sstool/inspect/doctor"
	"sstool/internal/op"
)

// examined is what a doctor might say, all of it.
func examined() *doctor.Result {
	n, s := int64(2_400_000), 21.5
	zero, app := int64(0), "w402-mini-papi-alos"
	return &doctor.Result{
		At: pinned(), AppID: app, Kafka: "4.0.2", Count: doctor.Count{OK: 1, Warnings: 1, Problems: 1, Unmeasured: 1},
		Findings: []op.Finding{
			{ID: "host.tmpfs", Area: doctor.AreaHost, Status: op.OK, Title: "the state lies on a file system that lasts", Evidence: []string{}, Remedy: []string{}},
			{ID: "config.standby", Area: doctor.AreaConfig, Status: op.Unmeasured, Title: "are there standby replicas?", Evidence: []string{}, Remedy: []string{}, Reason: "the application's properties are not given (--app-config)"},
			{ID: "changelog.replication", Area: doctor.AreaChangelogs, Status: op.Attention, Subject: "topic w402-mini-papi-alos-ts-kv-changelog", Title: "one replica", Evidence: []string{"replication.factor 1"}, Consequence: "a lost broker is lost state", Remedy: []string{"kafka-reassign-partitions.sh --bootstrap-server localhost:9092 …"}},
			{ID: "restart.out-of-range", Area: doctor.AreaRestart, Status: op.Wrong, Subject: "task 0_1, store ts-kv\x1b[2J", Title: "the offset is before the log's start", Evidence: []string{"offset 206", "log start 4,000"}, Consequence: "Kafka Streams wipes the task and replays 2,400,000 records", Remedy: []string{"plan for it", "sstool restore --into DIR builds the store before"}},
		},
		Tasks: []doctor.TaskStart{
			{App: app, Task: "0_0", Start: doctor.Start{Will: doctor.WillResume, Records: &zero, Why: "offsets fit"}, ExactlyOnce: &doctor.Start{Will: doctor.WillWipe, Records: &n, Why: "store nolog-kv has no offset"},
				Stores: []doctor.StoreStart{{Store: "ts-kv", Start: doctor.Start{Will: doctor.WillResume, Records: &zero, Why: "offset 206"}}}},
			{App: app, Task: "0_1", Start: doctor.Start{Will: doctor.WillWipe, Records: &n, Seconds: &s, Why: "offset out of range"},
				Stores: []doctor.StoreStart{{Store: "ts-kv", Start: doctor.Start{Will: doctor.WillWipe, Records: &n, Why: "206 < 4,000"}}, {Store: "plain-kv", Start: doctor.Start{Why: "the log is not known"}}}},
			{App: app, Task: "0_2", Start: doctor.Start{Why: "no cluster was asked"}, Stores: []doctor.StoreStart{}},
		},
	}
}

// answer gives the frame on top what a fetch might have brought.
func (d *driver) answer(data any, err error) {
	f := d.m.top()
	d.send(fetchedMsg{f.id, f.fetchN, data, err, pinned()})
}

// TestScreensOfTheDoctor keeps findings and what the next start does.
func TestScreensOfTheDoctor(t *testing.T) {
	dir := screens(t)
	d := fixture(t, "4.0.2-papi-alos")
	d.keys(":", "=doctor", "enter")
	if _, ok := d.m.top().data.(*doctor.Result); !ok {
		t.Fatalf("the engine said %v", d.m.top().err)
	}
	d.has("w402-mini-papi-alos: ", " not measured, at 02:30:00")
	d.answer(examined(), nil)
	d.golden(dir, "doctor")
	d.keys("d").golden(dir, "doctor-finding")
	d.keys("esc", "end", "d").has("--app-config").keys("esc", "2")
	d.answer(examined(), nil)
	d.golden(dir, "doctor-starts")
	d.keys("down", "d").golden(dir, "doctor-start")
	d.keys("esc", "y").has("sstool doctor --application-id w402-mini-papi-alos", "--state-dir /var/lib/kafka-streams/w402-mini-papi-alos --area restart").keys("esc")
	d.answer(nil, op.Errorf(op.Unreachable, "no answer").WithTry("ask again"))
	d.has("0_0   resume", "now: no answer; before: 3 tasks") // what was found stays
}

// TestDoctorOfOneOfSeveral: what is typed, or under the cursor, is examined, with
// its own directory and topology.
func TestDoctorOfOneOfSeveral(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	d.m.o.Contexts[0].AppConfig = &doctor.AppConfig{File: "streams.properties"}
	d.keys(":", "=doctor nobody", "enter")
	if c := strings.Join(d.m.doctorCommand("nobody"), " "); c != "sstool doctor --application-id nobody --state-dir /var/lib/kafka-streams --app-config streams.properties" {
		t.Error(c)
	}
	d.keys("esc", ":", "=doctor", "enter")
	if o := d.m.doctorOptions("w402-mini-opt-alos"); !strings.HasSuffix(o.Path, "/w402-mini-opt-alos") || o.Config == nil {
		t.Errorf("%+v", o)
	}
	d.has("w402-mini-opt-alos: ")
}
