package exposition

import (
	"strings"
	"testing"
)

// What is written reads back, whatever the labels hold.
func TestWrite(t *testing.T) {
	odd := "a \"b\" \\ c\nd, {e} é"
	var b strings.Builder
	err := Write(&b,
		Family{Name: "lag", Help: "first \\ line\nsecond", Type: "gauge", Samples: []Sample{
			{Labels: []Label{{"store", odd}, {"partition", "0"}}, Value: 12345678901}, {Value: 0.5}}},
		Family{Name: "none", Help: "h", Type: "counter"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "# HELP lag first \\\\ line\\nsecond\n# TYPE lag gauge\nlag{store=") || strings.Contains(b.String(), "none") {
		t.Error(b.String())
	}
	var got []Sample
	err = Read(strings.NewReader(b.String()), func(s *Sample) error {
		c := *s
		c.Labels = append([]Label(nil), s.Labels...)
		got = append(got, c)
		return nil
	})
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if got[0].Label("store") != odd || got[0].Value != 12345678901 || got[1].Value != 0.5 {
		t.Error(got)
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("a\"b", 1.0)
	f.Add("\xff\n\\", -2e300)
	f.Fuzz(func(t *testing.T, label string, value float64) {
		var b strings.Builder
		if err := Write(&b, Family{Name: "m", Help: label, Type: "gauge", Samples: []Sample{{Labels: []Label{{"l", label}}, Value: value}}}); err != nil {
			t.Fatal(err)
		}
		n := 0
		err := Read(strings.NewReader(b.String()), func(s *Sample) error {
			n++
			if s.Label("l") != strings.ToValidUTF8(label, "\uFFFD") || s.Value != value && value == value {
				t.Errorf("%q %v became %q %v", label, value, s.Label("l"), s.Value)
			}
			return nil
		})
		if err != nil || n != 1 {
			t.Errorf("%q: %d samples, %v", b.String(), n, err)
		}
	})
}
