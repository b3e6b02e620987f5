package cmd

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sstool/internal/op"
	"sstool/internal/spec"
)

var (
	hintedStore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bstore "([^"]+)"`) })
	hintedFlag  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^--(kind|subtopology|retention|segment-interval|history-retention)( \S+)?`)
	})
)

// specHint turns next steps that name a flag which describes a store into what
// to write in the specification, with which such flags are refused.
func (f *restoreFlags) specHint(err error) error {
	if err == nil || f.spec == "" {
		return err
	}
	store := "that store"
	if m := hintedStore().FindStringSubmatch(err.Error()); m != nil {
		store = "store " + m[1]
	}
	tries := op.Tries(err)
	hints := make([]string, len(tries))
	for i, t := range tries {
		hints[i] = inSpec(t, fmt.Sprintf("for %s in %s", store, f.specName()))
	}
	if slices.Equal(hints, tries) {
		return err
	}
	return op.Errorf(op.KindOf(err), "%w", errors.New(err.Error())).WithTry("%s", strings.Join(hints, "; "))
}

// inSpec is a next step in terms of a specification.
func inSpec(try, where string) string {
	if rest, ok := strings.CutPrefix(try, "`global: copy` in the spec (or --global-copy)"); ok {
		return "write `global: copy` " + where + rest
	}
	m := hintedFlag().FindStringSubmatch(try)
	if m == nil {
		return strings.NewReplacer("check --kind", "check kind "+where, "that --kind", "that kind "+where).Replace(try)
	}
	field, value := m[1], strings.Trim(m[2], " ,;")
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return fmt.Sprintf("write `%s: %s` %s, or --accept-derived to write derived values", field, spec.FormatDuration(d), where)
	}
	switch spec.Field(field) {
	case spec.FieldKind:
		return fmt.Sprintf("write `kind: …` %s; `sstool spec` reads it from a state directory of the application", where)
	case spec.FieldSubtopology:
		return fmt.Sprintf("write `subtopology: …` %s; `sstool spec` reads it from a topology or a state directory", where)
	}
	return fmt.Sprintf("write `%s: …` %s, as in the application", field, where)
}
