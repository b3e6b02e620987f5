package serde

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	const ms = 1767603600123 // 2026-01-05T09:00:00.123Z
	for _, c := range []struct {
		v    any
		want int64
	}{
		{int64(ms), ms}, {int(ms), ms}, {float64(ms), ms}, {json.Number("1767603600123"), ms}, {"1767603600123", ms}, {Time(ms), ms},
		{RawJSON("1767603600123"), ms}, {RawJSON(`"2026-01-05T09:00:00.123Z"`), ms}, {big.NewInt(ms), ms},
		{int64(1767603600), 1767603600000}, {1767603600.5, 1767603600500}, {"1767603600", 1767603600000}, {"1.7676036e9", 1767603600000},
		{"2026-01-05T10:00:00.123+01:00", ms}, {" 2026-01-05T09:00:00Z ", 1767603600000}, {"2026-01-05", 1767571200000},
		{int64(-1), -1}, {-1.0, -1}, {"-1", -1}, {int64(0), 0}, {int64(99_999_999_999), 99_999_999_999_000}, {int64(100_000_000_000), 100_000_000_000},
		{int64(math.MaxInt64), math.MaxInt64},
	} {
		if got, ok := Moment(c.v); !ok || got != c.want {
			t.Errorf("%T %v: %d, %t, expected %d", c.v, c.v, got, ok, c.want)
		}
	}
	for _, v := range []any{nil, true, "", "yesterday", "2026-13-40", "0x10", "inf", "nan", math.NaN(), math.Inf(1), 1e300, RawJSON(`{}`), RawJSON("x"), []any{int64(ms)}, Object{},
		new(big.Int).Lsh(big.NewInt(1), 80), "1_0"} {
		if got, ok := Moment(v); ok {
			t.Errorf("%T %v: %d, expected nothing", v, v, got)
		}
	}
}

func TestQueryVariables(t *testing.T) {
	q, err := ParseQuery(`$key | split("|")[1]`, "$key")
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	if err := q.Run(t.Context(), RawJSON(`{"a":1}`), func(v any) error { got = append(got, v); return nil }, "KL1001|2026-01-05"); err != nil || len(got) != 1 || got[0] != "2026-01-05" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParseQuery(`$key`); err == nil {
		t.Error("a variable that nobody gives was taken")
	}
}

func FuzzMoment(f *testing.F) {
	for _, s := range []string{"1767603600", "2026-01-05", "2026-01-05T09:00:00Z", "-1", "1e9", `{"a":1}`, "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ms, ok := Moment(s)
		if ok && ms >= 0 && ms < 1<<53 { // what is a time reads back as the same one
			if again, ok := Moment(Time(ms)); !ok || again != ms {
				t.Errorf("%q: %d, then %d", s, ms, again)
			}
		}
		if _, err := time.Parse(time.RFC3339, s); err == nil && !ok {
			t.Errorf("%q is RFC 3339", s)
		}
		Moment(RawJSON(s))
	})
}
