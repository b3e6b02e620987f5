package cmd

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// selectFlags are what the commands over SST files share: which stores below a
// path are meant, in which order they are shown, and how.
type selectFlags struct {
	stores, tasks namesValue
	kinds         namesValue
	key, value    string
	sort          choiceValue
	out           outputFlag
	progress      progressFlag
}

// register declares the flags; the first of sorts is the default.
func (f *selectFlags) register(cmd *cobra.Command, sorts []string, formats ...format) {
	fs := cmd.Flags()
	fs.Var(&f.stores, "store", "only stores of these `NAMES`")
	fs.Var(&f.tasks, "task", "only tasks of these `NAMES`, like 0_1 or global")
	fs.Var(&f.kinds, "kind", "only stores of these `KINDS`: "+diskKinds())
	f.sort = choiceValue{value: sorts[0], choices: sorts}
	fs.Var(&f.sort, "sort", "order: `BY` "+strings.Join(sorts, ", "))
	complete(cmd, "sort", sorts)
	f.out.register(cmd, formats...)
	f.progress.register(cmd)
}

// registerSerde declares how keys, and values where they are shown, are decoded.
func (f *selectFlags) registerSerde(cmd *cobra.Command, values bool) {
	cmd.Flags().StringVar(&f.key, "key", "", "decode keys as `DECODER`: "+strings.Join(serde.Names(), ", ")+" (default text or hexadecimal)")
	complete(cmd, "key", serde.Names())
	if values {
		cmd.Flags().StringVar(&f.value, "value", "", "decode values as `DECODER`, likewise")
		complete(cmd, "value", serde.Names())
	}
}

// selection is what the flags say of one path.
func (f *selectFlags) selection(path string) (inspect.Selection, error) {
	s := inspect.Selection{Path: path, Stores: f.stores, Tasks: f.tasks}
	for _, name := range f.kinds {
		k, err := streams.ParseKind(name)
		if err != nil {
			return s, err
		}
		s.Kinds = append(s.Kinds, k)
	}
	for _, x := range []struct {
		flag, text string
		to         *serde.Serde
	}{{"--key", f.key, &s.Key}, {"--value", f.value, &s.Value}} {
		if x.text == "" {
			continue
		}
		d, err := serde.Parse(x.text)
		if err != nil {
			return s, op.Errorf(op.Usage, "%s: %w", x.flag, err)
		}
		*x.to = d
	}
	return s, nil
}

// onePath takes one argument and says which, or none where the command's use
// has it in brackets.
func onePath(cmd *cobra.Command, args []string) error {
	if none := len(args) == 0 && strings.Contains(cmd.Use, "[PATH]"); len(args) != 1 && !none {
		return fmt.Errorf("%s takes one PATH: a state directory, a store, an SST file, or anything between", cmd.CommandPath())
	}
	return nil
}

// problemsFit is how often the same problem is told before it is summed up; the
// JSON has all.
const problemsFit = 3

// fileProblems writes what is wrong with files.
func (w *tableWriter) fileProblems(problems []inspect.FileProblem, notes []string) {
	if len(problems)+len(notes) > 0 {
		w.line("")
	}
	for _, n := range notes {
		w.wrapped("note: ", n)
	}
	type kind struct{ what, cure string }
	count, told := map[kind]int{}, map[kind]bool{}
	for _, p := range problems {
		count[kind{p.What, p.Cure}]++
	}
	for _, p := range problems {
		k := kind{p.What, p.Cure}
		if told[k] {
			continue
		}
		path := p.Path
		if n := count[k]; n > problemsFit {
			told[k] = true
			path += fmt.Sprintf(" and %d more", n-1)
		}
		w.wrapped("problem: ", path+": "+p.What)
		if p.Cure != "" {
			w.wrapped("  cure: ", p.Cure)
		}
	}
}

// problemsError is the exit code that problems mean: corrupt when a file is,
// else a part failed. The report has told them already.
func problemsError(what string, problems []inspect.FileProblem) error {
	failed := inspect.Failed(problems)
	if len(failed) == 0 {
		return nil
	}
	kind, first := inspect.Worst(failed), failed[0]
	for _, p := range failed {
		if inspect.Worst([]inspect.FileProblem{p}) == kind {
			first = p
			break
		}
	}
	return &op.Error{Kind: kind, What: what, Err: fmt.Errorf("%s: %s%s", first.Path, first.What, more(len(failed)-1)), Try: first.Cure}
}

// more says how many other things are wrong than the one that is told.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// placeText names where a database lies: task and store, or its directory.
func placeText(p inspect.Place) string {
	if p.Store == "" {
		return p.Database
	}
	parts := strings.Fields(p.Task + " " + p.Store)
	if p.Segment != nil {
		parts = append(parts, "segment", p.Segment.Format("2006-01-02T15:04:05.999Z07:00"))
	}
	if p.StoreKind != "" {
		parts = append(parts, "("+p.StoreKind+")")
	}
	return strings.Join(parts, " ")
}

// cut shortens text to n characters for a narrow table.
func cut(s string, n int) string {
	if s = printable(s); utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// shortPath is the end of a path, cut to fit a narrow table.
func (w *tableWriter) shortPath(path string, n int) string {
	r := []rune(printable(path))
	if w.format != formatTable || len(r) <= n {
		return path
	}
	return "…" + string(r[len(r)-n+1:])
}

// shortName is a name, cut to fit a narrow table.
func (w *tableWriter) shortName(s string, n int) string {
	if w.format == formatTable {
		return cut(s, n)
	}
	return s
}

// severalApplications says whether rows are of more than one, so that they
// have to be told apart.
func severalApplications[R any](rows []R, of func(*R) string) bool {
	for i := range rows {
		if of(&rows[i]) != of(&rows[0]) {
			return true
		}
	}
	return false
}

// keySpan is the range of a file's keys, cut to fit; wide shows all of it.
func (w *tableWriter) keySpan(low, high *inspect.Key, n int) string {
	if low == nil || high == nil {
		return ""
	}
	a, b := low.Text, high.Text
	if w.format == formatTable {
		a, b = cut(a, n), cut(b, n)
	}
	return a + " … " + b
}

// optional is a value that may not be known.
func (w *tableWriter) optional(known bool, text func() string) string {
	if !known {
		return w.none()
	}
	return text()
}

// utf8Terminal says whether characters beyond ASCII may be drawn: the locale
// says so, as it does for every program.
func (a *app) utf8Terminal() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := a.io.getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// isDirectory says whether a path is one, so that one file is shown in full.
func isDirectory(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// emitLines writes one JSON document a line, each with the envelope in front.
func emitLines[D any](a *app, kind string, docs []D) error {
	out := bufio.NewWriter(a.io.Out)
	for i := range docs {
		b, err := envelope(kind, docs[i])
		if err != nil {
			return err
		}
		out.Write(b)
		out.WriteByte('\n')
	}
	if err := out.Flush(); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}
