package main

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

func TestWithTag(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "-tags=x"},
		{"-mod=mod", "-mod=mod -tags=x"},
		{"-tags=a,b -v", "-tags=a,b,x -v"},
		{"--tags=a", "-tags=a,x"},
		{"-tags=x", "-tags=x"},
		{"'-tags=a b'", "-tags=a,b,x"},
		{"'-ldflags=-s -w'", "'-ldflags=-s -w' -tags=x"},
	} {
		got := withTag(tc.in, "x")
		if got != tc.want {
			t.Errorf("withTag(%q) = %q, want %q", tc.in, got, tc.want)
		}
		if again := withTag(got, "x"); again != got {
			t.Errorf("withTag twice: %q, then %q", got, again)
		}
	}
}

func TestSplitFlags(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []string
		ok   bool
	}{
		{"", nil, true},
		{"  gcc -m64 ", []string{"gcc", "-m64"}, true},
		{`'a b' "c d" e`, []string{"a b", "c d", "e"}, true},
		{"'a b", []string{"a b"}, false},
	} {
		if got, ok := splitFlags(tc.in); !reflect.DeepEqual(got, tc.want) || ok != tc.ok {
			t.Errorf("splitFlags(%q) = %q, %v", tc.in, got, ok)
		}
	}
}

func TestWithLinker(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", "-ldflags=-z=1"},
		{"-mod=mod", "-mod=mod -ldflags=-z=1"},
		{"'-ldflags=-s -w' -v", "-v '-ldflags=-s -w -z=1'"},
		{"--ldflags=-s", "'-ldflags=-s -z=1'"},
	} {
		got := withLinker(tc.in, "-z=1")
		if got != tc.want {
			t.Errorf("withLinker(%q) = %q, want %q", tc.in, got, tc.want)
		}
		if again := withLinker(got, "-z=1"); again != got {
			t.Errorf("withLinker twice: %q, then %q", got, again)
		}
	}
}

// TestExportsSurviveTheShell has a shell evaluate the lines: what comes out is
// what the go command sees.
func TestExportsSurviveTheShell(t *testing.T) {
	lib := &library{Include: "/a b/inc'l", File: "/a b/lib/librocksdb.so"}
	lines := strings.Join(exports(lib, "-mod=mod"), "\n")
	out, err := exec.Command("sh", "-c", lines+"\n"+`printf '%s\n' "$CGO_ENABLED" "$CGO_CFLAGS" "$CGO_LDFLAGS" "$GOFLAGS"`).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	want := []string{
		"1", `-O2 -g "-I/a b/inc'l"`, "'-L/a b/lib' -lrocksdb",
		`-mod=mod -tags=grocksdb_no_link "-ldflags='-r=/a b/lib'"`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func FuzzSplitFlags(f *testing.F) {
	f.Add("-tags=a 'b c' \"d\"")
	f.Fuzz(func(t *testing.T, s string) {
		fields, _ := splitFlags(s)
		if n := len(strings.Join(fields, "")); n > len(s) {
			t.Errorf("%q became longer: %q", s, fields)
		}
		withTag(s, "x")
	})
}
