package serde

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRoundTrip has the bytes that Kafka's serializers write, and what people
// write and read.
func TestRoundTrip(t *testing.T) {
	for _, c := range []struct{ serde, text, bytes, json string }{
		{"string", "grün", "67 72 c3 bc 6e", `"grün"`},
		{"string", "", "", `""`},
		{"long", "-2", "ffff ffff ffff fffe", "-2"},
		{"long", "9223372036854775807", "7fff ffff ffff ffff", "9223372036854775807"},
		{"int", "1000", "0000 03e8", "1000"},
		{"int", "-1", "ffff ffff", "-1"},
		{"short", "-2", "fffe", "-2"},
		{"byte", "-1", "ff", "-1"},
		{"double", "1.5", "3ff8 0000 0000 0000", "1.5"},
		{"double", "NaN", "7ff8 0000 0000 0000", `"NaN"`},
		{"double", "-Infinity", "fff0 0000 0000 0000", `"-Infinity"`},
		{"float", "0.1", "3dcc cccd", "0.1"},
		{"boolean", "true", "01", "true"},
		{"boolean", "false", "00", "false"},
		{"uuid", "123e4567-e89b-12d3-a456-426614174000", hex.EncodeToString([]byte("123e4567-e89b-12d3-a456-426614174000")), `"123e4567-e89b-12d3-a456-426614174000"`},
		{"bytes", `a\x5C\x00`, "61 5c 00", `"a\\x5C\\x00"`},
		{"hex", "00ff", "00 ff", `"00ff"`},
		{"base64", "AP8=", "00 ff", `"AP8="`},
		{"json", `{"b":1.10,"a":[null]}`, hex.EncodeToString([]byte(`{"b":1.10,"a":[null]}`)), `{"b":1.10,"a":[null]}`},
		{"void", "", "", "null"},
		{"windowed(string)", "ab@1000", "6162 0000 0000 0000 03e8", `{"key":"ab","start":"1970-01-01T00:00:01.000Z","start_ms":1000}`},
		{"session(string)", "ab@1970-01-01T00:00:01Z/2000", "6162 0000 0000 0000 07d0 0000 0000 0000 03e8",
			`{"key":"ab","start":"1970-01-01T00:00:01.000Z","end":"1970-01-01T00:00:02.000Z","start_ms":1000,"end_ms":2000}`},
		{"list(string)", `["a",null,""]`, "01 00000003 00000001 61 ffffffff 00000000", `["a",null,""]`},
		{"list(int)", `[1,null,2]`, "00 00000001 00000001 00000003 00000001 00000002", "[1,null,2]"},
		{"list(list(short))", `[[1]]`, "01 00000001 0000000b 00 00000000 00000001 0001", "[[1]]"},
		{"session(windowed(long))", "7@5@6/9", "0000000000000007 0000000000000005 0000000000000009 0000000000000006",
			`{"key":{"key":7,"start":"1970-01-01T00:00:00.005Z","start_ms":5},"start":"1970-01-01T00:00:00.006Z","end":"1970-01-01T00:00:00.009Z","start_ms":6,"end_ms":9}`},
	} {
		s, err := Parse(c.serde)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name() != c.serde {
			t.Errorf("%s calls itself %s", c.serde, s.Name())
		}
		b, err := s.Encode(c.text)
		if err != nil || !bytes.Equal(b, unhex(t, c.bytes)) {
			t.Errorf("%s encodes %q as %x (%v), want %s", c.serde, c.text, b, err, c.bytes)
		}
		v, err := s.Decode(unhex(t, c.bytes))
		if got := string(AppendJSON(nil, v)); err != nil || got != c.json {
			t.Errorf("%s decodes %s as %s (%v), want %s", c.serde, c.bytes, got, err, c.json)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ serde, text, bytes string }{
		{"string", "\xff", "ff"}, {"long", "1.5", "00"}, {"long", "9223372036854775808", ""}, {"int", "2147483648", "0000"},
		{"short", "40000", "00"}, {"byte", "200", "0000"}, {"double", "x", "00"}, {"float", "", "00"}, {"boolean", "yes", "02"},
		{"uuid", "123", "00"}, {"hex", "0", ""}, {"base64", "?", ""}, {"json", "{", "7b"}, {"void", "x", "00"},
		{"bytes", `\n`, ""}, {"windowed(string)", "a", "00"}, {"windowed(long)", "1@then", "00 0000000000000000"},
		{"session(string)", "a@1", "00"}, {"list(string)", "a", "01 7fffffff"}, {"list(string)", "{}", "00 00000000 00000001 61"},
		{"list(long)", `["x"]`, "00 00000000 00000002 0000000000000001"}, {"list(string)", `[1`, "01 00000001 ffffffee"},
		{"list(string)", "", "01 00000001 00000001 61 00"},
	} {
		s, err := Parse(c.serde)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := s.Encode(c.text); err == nil {
			t.Errorf("%s encodes %q as %x, want an error", c.serde, c.text, b)
		}
		if c.bytes == "" {
			continue
		}
		if v, err := s.Decode(unhex(t, c.bytes)); err == nil {
			t.Errorf("%s decodes %s as %v, want an error", c.serde, c.bytes, v)
		}
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{"", "str", "string(int)", "list", "list()", "list(string", "list(string))", "list(string,int)", "list(string) x",
		"windowed(", "list(a(b))", strings.Repeat("list(", 20) + "long" + strings.Repeat(")", 20)} {
		if s, err := Parse(bad); err == nil {
			t.Errorf("%q is read as %s", bad, s.Name())
		}
	}
	if s, err := Parse(" windowed( list( string ) ) "); err != nil || s.Name() != "windowed(list(string))" {
		t.Errorf("with spaces: %v %v", s, err)
	}
	registry := func(name string, args []Serde) (Serde, error) {
		if name != "avro" {
			return nil, nil
		}
		return simpleSerde{"avro", decodeString, encodeString}, nil
	}
	if s, err := Parse("windowed(avro)", registry); err != nil || s.Name() != "windowed(avro)" {
		t.Errorf("with a factory: %v %v", s, err)
	}
}

// TestSafe: nothing that a terminal obeys comes out, and JSON stays what it was.
func TestSafe(t *testing.T) {
	evil := "a\x1b[31m\u009b\u202e\x7f\"\\\n\u2028" + string(rune(0x10ffff)) + "ü"
	raw, err := decodeJSON([]byte(`{"x": "` + "a\u009b\u202e\x7f" + string(rune(0xe0001)) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{evil, Object{{evil, evil}}, raw, map[string]any{"\u202e": "\u009b"}, "\xff"} {
		out := AppendJSON(nil, v)
		if !isText(out) || bytes.ContainsAny(out, "\n") {
			t.Errorf("%q is not safe", out)
		}
		var back any
		if err := json.Unmarshal(out, &back); err != nil {
			t.Errorf("%q: %v", out, err)
		}
		if s, ok := v.(string); ok && s == evil && back != evil {
			t.Errorf("%q came back as %q", evil, back)
		}
	}
}

// TestAppendHex: any number of any bytes, as encoding/hex writes them.
func TestAppendHex(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for n := range len(all) + 1 {
		for _, b := range [][]byte{all[:n], all[n:]} {
			if got := string(AppendHex([]byte("x"), b)); got != "x"+hex.EncodeToString(b) {
				t.Fatalf("%x: %s", b, got)
			}
		}
	}
}

// TestPlain8 tries every byte at every place, among plain ones and others.
func TestPlain8(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			for _, rest := range []string{"abcdefgh", "        ", "~~~~~~~~", "!!!!!!!!", "########", "[[[[[[[["} {
				b := []byte(rest)
				b[at] = byte(c)
				want := c >= ' ' && c < 0x7f && c != '"' && c != '\\'
				if got := plain8(string(b), '"', '\\'); got != want {
					t.Fatalf("%q is plain: %t", b, got)
				}
			}
		}
	}
}

func TestTime(t *testing.T) {
	for ms, want := range map[Time]string{0: "1970-01-01T00:00:00.000Z", 1795939200123: "2026-11-29T08:00:00.123Z", -1: "1969-12-31T23:59:59.999Z",
		1<<63 - 1: "9223372036854775807", -1 << 63: "-9223372036854775808"} {
		if got := ms.String(); got != want {
			t.Errorf("%d is %s, want %s", int64(ms), got, want)
		}
	}
}

// TestTimeText compares with package time on every day of the calendar.
func TestTimeText(t *testing.T) {
	last := Time(253402300799999)
	for ms, i := Time(-62135596800000), Time(0); ms <= last; ms, i = ms+dayMs, i+1 {
		at := ms + i*7_654_321%dayMs
		if got, want := at.String(), time.UnixMilli(int64(at)).UTC().Format("2006-01-02T15:04:05.000Z07:00"); got != want {
			t.Fatalf("%d is %s, want %s", int64(at), got, want)
		}
	}
	if got := last.String(); got != "9999-12-31T23:59:59.999Z" {
		t.Error(got)
	}
}

// TestPartition has the vectors of Kafka's UtilsTest.testMurmur2.
func TestPartition(t *testing.T) {
	for key, want := range map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
		if got, want := Partition([]byte(key), 7), (want&0x7fffffff)%7; got != want {
			t.Errorf("partition of %q = %d, want %d", key, got, want)
		}
	}
}

func TestQuery(t *testing.T) {
	in := Object{{"key", "k"}, {"n", int64(7)}, {"value", RawJSON(`{"id":12345678901234567890,"tags":["a","b"]}`)}, {"f", float32(0.5)}, {"at", Time(0)}, {"l", []any{nil, true}}}
	for expr, want := range map[string]string{
		".key": `"k"`, ".n + 1": "8", ".value.tags[]": `"a" "b"`, ".value.id": "12345678901234567890", "select(.n > 9)": "",
		".at": `"1970-01-01T00:00:00.000Z"`, "[.f, .l]": "[0.5,[null,true]]", "{k: .key}": `{"k":"k"}`, "halt": "",
	} {
		q, err := ParseQuery(expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = q.Run(context.Background(), in, func(v any) error { got = append(got, string(AppendJSON(nil, v))); return nil })
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s gives %s (%v), want %s", expr, got, err, want)
		}
	}
	if _, err := ParseQuery(".["); err == nil {
		t.Error(".[ compiles")
	}
	if _, err := ParseQuery("nothing(1)"); err == nil {
		t.Error("an unknown function compiles")
	}
	q, _ := ParseQuery(".key + 1")
	if err := q.Run(context.Background(), in, func(any) error { return nil }); err == nil {
		t.Error("adding a number to a string works")
	}
}

func TestGuess(t *testing.T) {
	for _, c := range []struct {
		want    string
		samples []string // hexadecimal, or text behind a !
	}{
		{"string", []string{"!k001", "!", "!ümlaut"}},
		{"string", []string{"!abcdefgh"}}, // eight bytes, but text
		{"json", []string{`!{"a":1}`, `![1]`}},
		{"string", []string{`!{"a":1}`, `!{a`}},
		{"uuid", []string{"!123e4567-e89b-12d3-a456-426614174000"}},
		{"long", []string{"000000000000002a", "000001a2264f9740", "ffffffffffffffff"}},
		{"int", []string{"0000002a", "ffffffff"}},
		{"double", []string{"3ff8000000000000", "0000000000000000", "c000000000000000"}},
		{"", []string{"3fb999999999999a"}},
		{"", []string{"0123456789abcdef"}}, // a hash
		{"", []string{"3f800000"}},         // 1.0 as a float, or an int
		{"", []string{"01"}},
		{"", []string{""}},
		{"", []string{"000000000000002a", "0000002a"}},
	} {
		var g Guesser
		for _, s := range c.samples {
			if text, ok := strings.CutPrefix(s, "!"); ok {
				g.Add([]byte(text))
			} else {
				g.Add(unhex(t, s))
			}
		}
		got := ""
		if s := g.Serde(); s != nil {
			got = s.Name()
		}
		if got != c.want {
			t.Errorf("%q is guessed as %q, want %q", c.samples, got, c.want)
		}
	}
}

// FuzzDecode: every serde takes any bytes without a panic, what it decodes is
// JSON that is safe, and what it took from bytes it writes back.
func FuzzDecode(f *testing.F) {
	names := []string{"string", "long", "int", "short", "byte", "double", "float", "boolean", "uuid", "bytes", "hex", "base64", "json", "void",
		"windowed(string)", "session(bytes)", "list(string)", "list(long)", "list(list(json))"}
	for _, s := range []string{"", "abc", "\x01\x00\x00\x00\x01\x00\x00\x00\x01a", "\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01", `{"a":[1,"\u009b"]}`, "\x00\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var g Guesser
		g.Add(b)
		if s := g.Serde(); s != nil {
			if _, err := s.Decode(b); err != nil {
				t.Errorf("guessed %s: %v", s.Name(), err)
			}
		}
		for _, name := range names {
			s, err := Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Decode(b)
			if err != nil {
				continue
			}
			out := AppendJSON(nil, v)
			if short, err := AppendDecoded(nil, s, b); err != nil || !bytes.Equal(short, out) {
				t.Errorf("%s of %x the short way: %s (%v), want %s", name, b, short, err, out)
			}
			if short, err := AppendDecodedText(nil, s, b); err != nil || string(short) != Text(v) {
				t.Errorf("%s of %x, text the short way: %s (%v), want %s", name, b, short, err, Text(v))
			}
			if !json.Valid(out) || !isText(out) {
				t.Errorf("%s of %x: %q", name, b, out)
			}
			if _, err := Plain(v); err != nil {
				t.Errorf("%s of %x: %v", name, b, err)
			}
			switch name {
			case "string", "long", "int", "short", "byte", "boolean", "bytes", "hex", "base64":
				if back, err := s.Encode(Text(v)); err != nil || !bytes.Equal(back, b) {
					t.Errorf("%s of %x is %q, and back %x (%v)", name, b, Text(v), back, err)
				}
			}
		}
	})
}

// FuzzParse: names and keys that people type never panic.
func FuzzParse(f *testing.F) {
	f.Add("windowed(list(string))", "a@1")
	f.Add("bytes", `\x0`)
	f.Fuzz(func(t *testing.T, name, text string) {
		s, err := Parse(name)
		if err != nil {
			return
		}
		if again, err := Parse(s.Name()); err != nil || again.Name() != s.Name() {
			t.Errorf("%q: %v", s.Name(), err)
		}
		if b, err := s.Encode(text); err == nil {
			if _, err := s.Decode(b); err != nil && !strings.Contains(s.Name(), "void") {
				t.Errorf("%s encodes %q as %x, which it cannot read: %v", s.Name(), text, b, err)
			}
		}
	})
}
