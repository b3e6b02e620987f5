package registry

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestSubjects(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != "me" || p != "secret" || r.URL.Path != "/subjects" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write([]byte(`["app-st-changelog-value","app-st-changelog-key","app-st2-changelog-value","app-st-changelogs-value","app-st-changelog-com.example.Order"]`))
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	got, err := Subjects(t.Context(), "http://me:secret@"+host, []string{"app-st-changelog"})
	if want := []string{"app-st-changelog-com.example.Order", "app-st-changelog-key", "app-st-changelog-value"}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v %v", got, err)
	}
	_, err = Subjects(t.Context(), "http://me:wrong@"+host, nil)
	if op.KindOf(err) != op.Unreachable || strings.Contains(err.Error(), "wrong") {
		t.Fatal(err)
	}
	s.Close()
	if _, err = Subjects(t.Context(), "http://me:secret@"+host, nil); op.KindOf(err) != op.Unreachable || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
	if _, err = Subjects(t.Context(), "me:secret@host", nil); op.KindOf(err) != op.Usage || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
}
