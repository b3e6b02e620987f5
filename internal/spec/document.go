package spec

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// origin is where a value of a document came from.
type origin struct {
	Text    string
	Certain bool
}

// isDocument says whether a mapping is the JSON document of sstool spec -o json
// (JSON is YAML) rather than a specification as people write it.
func isDocument(n *yaml.Node) bool {
	v := valueOf(n, "kind")
	return v != nil && v.Value == "spec" && valueOf(n, "application_id") != nil
}

// document reads the JSON document: what is null or false there is left out in
// a specification, and what was derived stays derived.
func (p *parser) document(n *yaml.Node) (*Spec, error) {
	if v := valueOf(n, "version"); v == nil || v.Value != "1" {
		return nil, p.fail(n.Line, "a document of another version than 1")
	}
	var from []map[Field]origin
	if stores := valueOf(n, "stores"); stores != nil && stores.Kind == yaml.SequenceNode {
		for _, st := range stores.Content {
			if st.Kind != yaml.MappingNode {
				from = append(from, nil) // spec says what is wrong
				continue
			}
			o := map[Field]origin{}
			if v := valueOf(st, "from"); v != nil && v.Decode(&o) != nil {
				return nil, p.fail(v.Line, "from: not as sstool spec -o json writes it")
			}
			from = append(from, o)
			asSpec(st, "kind_candidates", "missing", "from", "notes")
			keep := o[FieldWithIndex].Certain
			dropValues(st, func(f Field, v *yaml.Node) bool {
				return v.Tag == "!!null" || v.Tag == "!!bool" && v.Value == "false" && !(f == FieldWithIndex && keep)
			})
			globalCopy(st)
		}
	}
	asSpec(n, "kind", "version", "from", "notes")
	dropValues(n, func(_ Field, v *yaml.Node) bool { return v.Tag == "!!null" })
	s, err := p.spec(n)
	if err != nil {
		return nil, err
	}
	for i := range s.Stores {
		for f, o := range from[i] {
			if !o.Certain && s.Stores[i].Has(f) {
				s.Stores[i].set(f, derived("%s", o.Text))
			}
		}
	}
	return s, nil
}

// valueOf is the value of a mapping's key, nil when it is not there.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// asSpec renames the keys as a specification has them, and drops some.
func asSpec(n *yaml.Node, drop ...string) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if slices.Contains(drop, k.Value) {
			continue
		}
		k.Value = strings.ReplaceAll(k.Value, "_", "-")
		kept = append(kept, k, n.Content[i+1])
	}
	n.Content = kept
}

func dropValues(n *yaml.Node, drop func(Field, *yaml.Node) bool) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !drop(Field(n.Content[i].Value), n.Content[i+1]) {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	n.Content = kept
}

// globalCopy writes global-copy: true as global: copy.
func globalCopy(n *yaml.Node) {
	if valueOf(n, "global-copy") == nil {
		return
	}
	dropValues(n, func(f Field, _ *yaml.Node) bool { return f == "global-copy" })
	if v := valueOf(n, string(FieldGlobal)); v != nil {
		v.Tag, v.Value = "!!str", "copy"
	}
}
