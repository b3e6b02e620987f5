package cmd

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1048576": 1 << 20, "256MiB": 256 << 20, "1GB": 1e9, "64k": 64 << 10, "1.5 KiB": 1536,
		"10B": 10, "2tb": 2e12, "3m": 3 << 20, "1g": 1 << 30, "": -1, "MiB": -1, "-1": -1, "1e3": -1, "1XB": -1,
		"9999999999GB": -1, "1.2.3": -1, "0x10": -1, "inf": -1,
	} {
		got, err := parseBytes(in)
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("parseBytes(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	day := 24 * time.Hour
	for in, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour,
		"0s": 0, "250ms": 250 * time.Millisecond, "": -1, "5": -1, "-1s": -1, "d": -1, "1d-1h": -1, "1dd": -1, "9999999d": -1,
		"100000d300000h": 100000*day + 300000*time.Hour, "99999d2562047h": -1,
	} {
		got, err := parseDuration(in)
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("parseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestParsePartitions(t *testing.T) {
	for in, want := range map[string]string{
		"0": "[0]", "0,2-5": "[0 2 3 4 5]", "3,1,3": "[1 3]", " 1 , 2 ": "[1 2]",
		"": "", "a": "", "5-2": "", "-1": "", "1-": "", "0-4294967295": "", "100001": "",
	} {
		got, err := parsePartitions(in)
		if want == "" && err == nil || want != "" && (err != nil || fmt.Sprint(got) != want) {
			t.Errorf("parsePartitions(%q) = %v, %v; want %s", in, got, err, want)
		}
	}
}

func TestPropertiesNeverShowAValue(t *testing.T) {
	var v propertiesValue
	for _, s := range []string{"max.poll.records=10", "ssl.key.password = s3cret=x ", "s3cret"} {
		if err := v.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	_, err := v.parse("consumer-property")
	if op.KindOf(err) != op.Usage || strings.Contains(err.Error()+v.String(), "s3cret") {
		t.Errorf("got %v, want a usage error without the value", err)
	}
	got, err := v[:2].parse("consumer-property")
	if err != nil || got["ssl.key.password"] != "s3cret=x" || got["max.poll.records"] != "10" {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzValues(f *testing.F) {
	f.Add("0,2-5")
	f.Add("1.5GiB")
	f.Add("1d12h")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseBytes(s); err == nil && n < 0 {
			t.Errorf("parseBytes(%q) = %d", s, n)
		}
		if d, err := parseDuration(s); err == nil && d < 0 {
			t.Errorf("parseDuration(%q) = %v", s, d)
		}
		ps, err := parsePartitions(s)
		for i, p := range ps {
			if err != nil || p < 0 || p > maxPartition || i > 0 && ps[i-1] >= p {
				t.Fatalf("parsePartitions(%q) = %v, %v", s, ps, err)
			}
		}
	})
}

func TestHuman(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{humanBytes(0), "0 B"}, {humanBytes(1023), "1023 B"}, {humanBytes(1024), "1 KiB"}, {humanBytes(1536), "1.5 KiB"},
		{humanBytes(64 << 20), "64 MiB"}, {humanBytes(1<<20 - 1), "1 MiB"}, {humanBytes(math.MaxInt64), "8192 PiB"},
		{humanDuration(0), "0s"}, {humanDuration(812 * time.Microsecond), "812µs"}, {humanDuration(8400 * time.Microsecond), "8.4ms"},
		{humanDuration(1240 * time.Millisecond), "1.24s"}, {humanDuration(125 * time.Second), "2m05s"}, {humanDuration(time.Hour), "1h"},
		{humanDuration(76 * time.Hour), "3d04h"}, {humanDuration(-time.Second), "-1s"}, {humanDuration(59*time.Second + 999*time.Millisecond), "60s"},
		{humanCount(0), "0"}, {humanCount(999), "999"}, {humanCount(1000), "1,000"}, {humanCount(-1234567), "-1,234,567"},
		{humanRate(1234567, "records"), "1.23M records/s"}, {humanRate(45678, "records"), "46k records/s"}, {humanRate(512, "records"), "512 records/s"}, {humanRate(5258.6, "records"), "5,259 records/s"}, {humanRate(2.5, "records"), "2.5 records/s"},
		{humanShare(1, 4), "25.0 %"}, {humanShare(0, 0), "-"}, {humanShare(1, 1e6), "<0.1 %"},
		{printable("plain ä €"), "plain ä €"}, {printable("a\x1b[2Jb\n\t\x00\xff"), `a\x1b[2Jb\n\t\x00\xff`}, {printable("a\u202eb"), `a\u202eb`},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
