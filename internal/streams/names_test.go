package streams

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	eq := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	eq(ChangelogTopic("app", "s"), "app-s-changelog")
	eq(NamedChangelogTopic("app", "top", "s"), "app-top-s-changelog")
	eq(NamedChangelogTopic("app", "", "s"), "app-s-changelog")
	eq(RepartitionTopic("app", "x"), "app-x-repartition")
	reg, resp := FKTopics("app", "j")
	eq(reg, "app-j-subscription-registration-topic")
	eq(resp, "app-j-subscription-response-topic")
	if s, ok := StoreOfChangelog("app", "app-my-store-changelog"); !ok || s != "my-store" {
		t.Errorf("%q, %v", s, ok)
	}
	for _, topic := range []string{"other-s-changelog", "app-changelog", "app--changelog", "app-s-repartition"} {
		if s, ok := StoreOfChangelog("app", topic); ok {
			t.Errorf("%s: store %q", topic, s)
		}
	}
	for topic, want := range map[string]bool{
		"app-s-changelog": true, "app-x-repartition": true, reg: true, resp: true, "app-in": false, "xapp-s-changelog": false,
		"app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000021-topic": true,
	} {
		if IsInternalTopic("app", topic) != want {
			t.Errorf("IsInternalTopic(%s) = %v", topic, !want)
		}
	}
}

func TestValidateNames(t *testing.T) {
	long := strings.Repeat("a", 235)
	for name, ok := range map[string]bool{"a": true, "a.b_C-9": true, "": false, ".": false, "..": false, "a b": false,
		"a/b": false, "é": false, ".checkpoint": false, long: true, long + "a": false} {
		if err := ValidateStoreName("app", name); (err == nil) != ok {
			t.Errorf("store %.20q: %v", name, err)
		}
	}
	if err := ValidateTopic(strings.Repeat("a", 249)); err != nil {
		t.Error(err)
	}
	if ValidateTopic(strings.Repeat("a", 250)) == nil || ValidateApplicationID("a/b") == nil {
		t.Error("accepted")
	}
}

func TestKinds(t *testing.T) {
	for _, k := range Kinds() {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("%s: %v, %v", k, got, err)
		}
		s := Store{Name: "s", Kind: k, Retention: time.Hour, SegmentInterval: time.Minute, HistoryRetention: time.Hour}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		s.Headers = true
		if err := s.Validate(); (err == nil) != k.HasHeaders() {
			t.Errorf("%s with headers: %v", k, err)
		}
		if f := s.ColumnFamilies(); f[0] != DefaultFamily || (len(f) > 1) != k.HasHeaders() {
			t.Errorf("%s with headers: families %v", k, f)
		}
		bare := Store{Name: "s", Kind: k}
		if err := bare.Validate(); (err == nil) != (!k.Windowed() && k != Versioned) {
			t.Errorf("%s without times: %v", k, err)
		}
		if _, err := NewConverter(Store{Name: "s", Kind: k, Retention: time.Hour, SegmentInterval: time.Minute}); (err == nil) != (k.OnDisk() && k != Versioned) {
			t.Errorf("%s: converter %v", k, err)
		}
	}
	if _, err := ParseKind("windows"); err == nil {
		t.Error("parsed")
	}
}

func TestLayout(t *testing.T) {
	kv := Store{Name: "s", Kind: KV}
	win := Store{Name: "s", Kind: Window, Retention: 20 * time.Minute, SegmentInterval: 10 * time.Minute}
	grace := Store{Name: "j-Buffer", Kind: GraceBuffer}
	for _, c := range [][2]string{
		{DatabaseDir("/x/0_1", kv, 9), "/x/0_1/rocksdb/s"},
		{DatabaseDir("/x/0_1", win, win.SegmentID(1795938600001)), "/x/0_1/s/s.1795938600000"},
		{DatabaseDir("/x/0_1", grace, 0), "/x/0_1/j-Buffer/j-Buffer.0"},
		{StoreDir("/x/0_1", win), "/x/0_1/s"},
		{SegmentDir("s", 3, time.Minute), "s.180000"},
		{TaskDir("/st", "app", "", TaskID{0, 1}), "/st/app/0_1"},
		{TaskDir("/st", "app", "top", TaskID{0, 1}), "/st/app/__top__/0_1"},
		{GlobalTaskDir("/st", "app"), "/st/app/global"},
		{PositionFile("/x/0_1", "s"), "/x/0_1/s.position"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %s, want %s", c[0], c[1])
		}
	}
	for s, want := range map[string]TaskID{"0_1": {0, 1}, "12_345": {12, 345}} {
		if got, err := ParseTaskID(s); err != nil || got != want || got.String() != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "0_", "_1", "a_1", "0_1_2", "-1_0", "+1_0", "0_99999999999", "top__0_1"} {
		if got, err := ParseTaskID(s); err == nil {
			t.Errorf("%q parsed as %v", s, got)
		}
	}
	for name, want := range map[string]int64{"s.180000": 180000, "s.-60000": -60000} {
		if ms, ok := ParseSegmentDir("s", name); !ok || ms != want {
			t.Errorf("%s: %d, %v", name, ms, ok)
		}
	}
	for _, name := range []string{"s", "s.", "s.x", "s-201601010101", "t.60000", "s.+1", "s.1 "} {
		if ms, ok := ParseSegmentDir("s", name); ok {
			t.Errorf("%s: %d", name, ms)
		}
	}
}

func TestSegments(t *testing.T) {
	s := Store{Kind: Window, Retention: 10 * time.Minute, SegmentInterval: 5 * time.Minute}
	for ts, want := range map[int64]int64{0: 0, 299_999: 0, 300_000: 1, -1: 0, -299_999: 0, -300_000: -1} {
		if got := s.SegmentID(ts); got != want {
			t.Errorf("SegmentID(%d) = %d, want %d", ts, got, want)
		}
	}
	// Java division: before the retention has passed once, segment 0 is live.
	for st, want := range map[int64]int64{-1: -2, 0: -2, 300_000: -1, 300_001: 0, 900_000: 1, 899_999: 0} {
		if got := s.MinLiveSegment(st); got != want {
			t.Errorf("MinLiveSegment(%d) = %d, want %d", st, got, want)
		}
	}
	g := Store{Kind: GraceBuffer}
	if g.SegmentID(math.MaxInt64-1) != 0 || g.MinLiveSegment(math.MaxInt64-1) != 0 || (Store{}).SegmentID(5) != 0 {
		t.Error("a grace buffer has segment 0 only")
	}
}

func TestVersions(t *testing.T) {
	for in, want := range map[string]Version{"4.4": {4, 4, 0}, "4.2.1": {4, 2, 1}, " 3.0.0 ": {3, 0, 0}, "4.4.0-SNAPSHOT": {4, 4, 0}} {
		if got, err := ParseVersion(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "4", "4.x", "v4.4", "4.4.0.1", "-1.2", "4.99999"} {
		if got, err := ParseVersion(in); err == nil {
			t.Errorf("%q parsed as %v", in, got)
		}
	}
	sorted := []Version{{2, 8, 2}, {3, 0, 0}, {4, 2, 1}, {4, 3, 0}, {4, 4, 0}, {4, 5, 0}}
	if !slices.IsSortedFunc(sorted, func(a, b Version) int {
		if a.Less(b) && !a.AtLeast(b) {
			return -1
		}
		return 1
	}) {
		t.Error("order")
	}
	for i, v := range sorted {
		if OffsetsInStore(v) != (i >= 3) || (WindowedProbes(v, false) != nil) != (i >= 4) || WindowedProbes(v, true) != nil || (v.CheckTarget() == nil) != (i > 0 && i < 5) || v.SSTFormat() != 5 {
			t.Errorf("%s", v)
		}
	}
	if WindowedProbes(Version{4, 2, 2}, true) == nil || WindowedProbes(Version{4, 2, 1}, false) != nil {
		t.Error("4.2.2 seeks, 4.2.1 does not")
	}
	if (Version{4, 2, 1}).String() != "4.2.1" || !(Version{}).IsZero() {
		t.Error("String or IsZero")
	}
}

func TestWithArticle(t *testing.T) {
	for word, want := range map[string]string{"in-memory": "an in-memory", "kv": "a kv", "unknown": "an unknown", "": "a "} {
		if got := WithArticle(word); got != want {
			t.Errorf("%q: %q", word, got)
		}
	}
}
