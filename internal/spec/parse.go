package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// maxSpec is more than any specification: a file beyond it is the wrong one.
const maxSpec = 4 << 20

// maxPartition bounds lists of partitions.
const maxPartition = 1 << 20

// Load reads a specification file.
func Load(path string) (*Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		kind := op.Failed
		if errors.Is(err, fs.ErrNotExist) {
			kind = op.NotFound
		}
		return nil, &op.Error{Kind: kind, What: "read specification", Err: err}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, op.Errorf(op.Usage, "%s is a directory, expected a specification file", path).
			WithTry("sstool spec --state-dir %s writes one", path)
	}
	return Parse(filepath.Base(path), f)
}

// Parse reads a specification. It is strict: unknown keys, values of the wrong
// form, duplicates and fields that do not fit a store's kind are op.Usage
// errors with their line. What is left out is not an error: see Missing.
// Values come out certain, with their line as source. The JSON document of
// sstool spec is read too; what was derived there stays derived.
func Parse(name string, r io.Reader) (*Spec, error) {
	p := parser{name: name}
	b, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: "read specification " + name, Err: err}
	}
	if len(b) > maxSpec {
		return nil, p.fail(0, "longer than %d MiB: not a specification", maxSpec>>20)
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(string(b)))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, p.fail(0, "empty, expected at least %s and %s", FieldApplicationID, FieldStores)
	case err != nil:
		return nil, p.fail(0, "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, p.fail(0, "more than one document, expected one application")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, p.fail(0, "not a mapping")
	}
	if n := doc.Content[0]; isDocument(n) {
		return p.document(n)
	}
	return p.spec(doc.Content[0])
}

type parser struct{ name string }

func (p *parser) fail(line int, format string, args ...any) *op.Error {
	what := "specification " + p.name
	if line > 0 {
		what += fmt.Sprintf(", line %d", line)
	}
	return &op.Error{Kind: op.Usage, What: what, Err: fmt.Errorf(format, args...)}
}

// at is a value's source.
func (p *parser) at(n *yaml.Node) Source { return certain("%s line %d", p.name, n.Line) }

// pair is one key of a mapping.
type pair struct {
	key   Field
	value *yaml.Node
	line  int
}

// mapping reads a mapping whose keys must be among allowed.
func (p *parser) mapping(n *yaml.Node, what string, allowed []Field) ([]pair, error) {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		return nil, p.fail(n.Line, "%s is not a mapping, expected \"key: value\" lines", what)
	}
	var out []pair
	seen := map[Field]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		key := Field(k.Value)
		if k.Kind != yaml.ScalarNode || !slices.Contains(allowed, key) {
			names := make([]string, len(allowed))
			for i, f := range allowed {
				names[i] = string(f)
			}
			return nil, p.fail(k.Line, "unknown key %q of %s", k.Value, what).WithTry("the keys are %s", strings.Join(names, ", "))
		}
		if line, dup := seen[key]; dup {
			return nil, p.fail(k.Line, "%s is given twice, first in line %d", key, line)
		}
		seen[key] = k.Line
		out = append(out, pair{key, follow(n.Content[i+1]), k.Line})
	}
	return out, nil
}

// follow resolves an alias.
func follow(n *yaml.Node) *yaml.Node {
	for range 8 {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			break
		}
		n = n.Alias
	}
	return n
}

// scalar is a value's text.
func (p *parser) scalar(kv pair) (string, error) {
	if kv.value.Kind != yaml.ScalarNode || kv.value.Tag == "!!null" || kv.value.Value == "" {
		return "", p.fail(kv.line, "%s has no value", kv.key)
	}
	return kv.value.Value, nil
}

func (p *parser) spec(n *yaml.Node) (*Spec, error) {
	pairs, err := p.mapping(n, "the specification", []Field{FieldApplicationID, FieldGuarantee, FieldKafkaVersion, FieldStores})
	if err != nil {
		return nil, err
	}
	s := &Spec{}
	var stores *pair
	for _, kv := range pairs {
		if kv.key == FieldStores {
			stores = &kv
			continue
		}
		v, err := p.scalar(kv)
		if err != nil {
			return nil, err
		}
		s.set(kv.key, p.at(kv.value))
		switch kv.key {
		case FieldApplicationID:
			if err := streams.ValidateApplicationID(v); err != nil {
				return nil, p.fail(kv.line, "%w", err)
			}
			s.ApplicationID = v
		case FieldGuarantee:
			if s.Guarantee, err = guarantee(v); err != nil {
				return nil, p.fail(kv.line, "%w", err)
			}
		case FieldKafkaVersion:
			version, err := streams.ParseVersion(v)
			if err == nil {
				err = version.CheckTarget()
			}
			if err != nil {
				return nil, p.fail(kv.line, "%w", err)
			}
			s.KafkaVersion = v
		}
	}
	if s.ApplicationID == "" {
		return nil, p.fail(0, "no %s", FieldApplicationID)
	}
	if stores == nil {
		return nil, p.fail(0, "no %s", FieldStores)
	}
	if stores.value.Kind != yaml.SequenceNode || len(stores.value.Content) == 0 {
		return nil, p.fail(stores.line, "%s is not a list of at least one store", FieldStores)
	}
	lines := map[string]int{}
	for _, e := range stores.value.Content {
		e = follow(e)
		st, err := p.store(e, s.ApplicationID)
		if err != nil {
			return nil, err
		}
		if line, dup := lines[st.Name]; dup {
			return nil, p.fail(e.Line, "store %q is given twice, first in line %d", st.Name, line)
		}
		lines[st.Name] = e.Line
		s.Stores = append(s.Stores, st)
	}
	return s, nil
}

// guarantee reads processing.guarantee; the older names of exactly-once mean
// the same to a restore.
func guarantee(v string) (string, error) {
	switch v {
	case AtLeastOnce:
		return AtLeastOnce, nil
	case ExactlyOnce, "exactly_once", "exactly_once_beta":
		return ExactlyOnce, nil
	}
	return "", fmt.Errorf("%s %q, expected %s or %s", FieldGuarantee, v, AtLeastOnce, ExactlyOnce)
}

func (p *parser) store(n *yaml.Node, appID string) (Store, error) {
	var s Store
	pairs, err := p.mapping(n, "a store", storeFields[:])
	if err != nil {
		return s, err
	}
	lines := map[Field]int{}
	for _, kv := range pairs {
		if err := p.field(&s, kv, appID); err != nil {
			return s, err
		}
		s.set(kv.key, p.at(kv.value))
		lines[kv.key] = kv.line
	}
	if s.Name == "" {
		return s, p.fail(n.Line, "a store without a %s", FieldName)
	}
	for _, f := range storeFields {
		line, given := lines[f]
		if !given {
			continue
		}
		if s.Kind != "" && !needs(s.Kind, f) && s.Has(f) {
			return s, p.fail(line, "%s does not fit a store of kind %s", f, s.Kind)
		}
		if s.Global && (f == FieldSubtopology || f == FieldPartitions || f == FieldSourceTopic) {
			return s, p.fail(line, "%s does not fit a global store: it is built from all partitions of its topic", f)
		}
	}
	if s.SourceTopic && s.Topic == "" {
		return s, p.fail(lines[FieldSourceTopic], "%s needs the %s", FieldSourceTopic, FieldTopic)
	}
	return s, nil
}

// field reads one value of a store.
func (p *parser) field(s *Store, kv pair, appID string) error {
	if kv.key == FieldPartitions {
		list, err := partitions(kv.value)
		if err != nil {
			return p.fail(kv.line, "%s: %w", kv.key, err)
		}
		s.Partitions = list
		return nil
	}
	v, err := p.scalar(kv)
	if err != nil {
		return err
	}
	switch kv.key {
	case FieldName:
		s.Name, err = v, streams.ValidateStoreName(appID, v)
	case FieldKind:
		s.Kind, err = streams.ParseKind(v)
	case FieldTopic:
		s.Topic, err = v, streams.ValidateTopic(v)
	case FieldSubtopology:
		n, bad := strconv.ParseUint(v, 10, 31)
		if bad != nil {
			return p.fail(kv.line, "%s %q, expected a number", kv.key, v)
		}
		i := int(n)
		s.Subtopology = &i
	case FieldHeaders:
		s.Headers, err = boolean(kv.key, v)
	case FieldWithIndex:
		s.WithIndex, err = boolean(kv.key, v)
	case FieldSourceTopic:
		s.SourceTopic, err = boolean(kv.key, v)
	case FieldGlobal:
		if v == "copy" {
			s.Global, s.GlobalCopy = true, true
			break
		}
		if s.Global, err = boolean(kv.key, v); err != nil {
			err = fmt.Errorf("%w, or copy when its rows are the topic's records", err)
		}
	case FieldRetention:
		s.Retention, err = positive(kv.key, v)
	case FieldSegmentInterval:
		s.SegmentInterval, err = positive(kv.key, v)
	case FieldHistoryRetention:
		if s.HistoryRetention, err = ParseDuration(v); err != nil {
			err = fmt.Errorf("%s: %w", kv.key, err)
		}
	}
	if err != nil {
		out := p.fail(kv.line, "%w", err)
		if tries := op.Tries(err); len(tries) > 0 {
			out.Try = tries[0]
		}
		return out
	}
	return nil
}

func boolean(f Field, v string) (bool, error) {
	switch v {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s %q, expected true or false", f, v)
}

func positive(f Field, v string) (time.Duration, error) {
	d, err := ParseDuration(v)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q, expected more than nothing", v)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f, err)
	}
	return d, nil
}

// partitions reads 3, "0,2-5" or [0, 2].
func partitions(n *yaml.Node) ([]int32, error) {
	var parts []string
	switch n.Kind {
	case yaml.ScalarNode:
		parts = strings.Split(n.Value, ",")
	case yaml.SequenceNode:
		for _, e := range n.Content {
			parts = append(parts, follow(e).Value)
		}
	}
	set := map[int32]bool{}
	for _, s := range parts {
		from, to, isRange := strings.Cut(strings.TrimSpace(s), "-")
		a, err := strconv.ParseUint(from, 10, 31)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(to, 10, 31)
		}
		if err != nil || b < a || b >= maxPartition {
			return nil, fmt.Errorf("%q, expected numbers like 0,2-5", s)
		}
		for i := a; i <= b; i++ {
			set[int32(i)] = true
		}
	}
	if len(set) == 0 {
		return nil, errors.New("none, expected numbers like 0,2-5")
	}
	out := make([]int32, 0, len(set))
	for i := range set {
		out = append(out, i)
	}
	slices.Sort(out)
	return out, nil
}
