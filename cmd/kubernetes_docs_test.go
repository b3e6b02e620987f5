package cmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"sstool/internal/spec"
)

// TestKubernetesManifests holds the manifests of docs/kubernetes.md against the
// strict schemas of Kubernetes' own API, in which an unknown field is an error,
// and their command lines against the flags that there are.
func TestKubernetesManifests(t *testing.T) {
	c := jsonschema.NewCompiler()
	kinds := map[string]*jsonschema.Schema{}
	for kind, def := range map[string]string{
		"apps/v1 StatefulSet": "apps.v1.StatefulSet", "batch/v1 Job": "batch.v1.Job",
		"v1 ConfigMap": "core.v1.ConfigMap", "v1 PersistentVolumeClaim": "core.v1.PersistentVolumeClaim",
	} {
		s, err := c.Compile("testdata/kubernetes-1.37.json#/$defs/io.k8s.api." + def)
		if err != nil {
			t.Fatal(err)
		}
		kinds[kind] = s
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, block := range yamlBlocks(string(text)) {
		for dec := yaml.NewDecoder(strings.NewReader(block)); ; {
			var doc map[string]any
			if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in\n%s", err, block)
			}
			kind := doc["apiVersion"].(string) + " " + doc["kind"].(string)
			seen[kind]++
			if kinds[kind] == nil {
				t.Errorf("no schema for %s", kind)
			} else if err := kinds[kind].Validate(doc); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			checkCommands(t, doc)
			if data, ok := doc["data"].(map[string]any); ok {
				if _, err := spec.Parse("orders.yaml", strings.NewReader(data["orders.yaml"].(string))); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if seen["apps/v1 StatefulSet"] != 4 || seen["batch/v1 Job"] != 1 || seen["v1 ConfigMap"] != 1 {
		t.Errorf("the page has %v", seen)
	}
	// The schema is strict.
	wrong := bytes.Replace(text, []byte("volumeMounts:"), []byte("volumeMount:"), 1)
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(strings.SplitN(yamlBlocks(string(wrong))[0], "---\n", 2)[1]), &doc); err != nil {
		t.Fatal(err)
	}
	if kinds["apps/v1 StatefulSet"].Validate(doc) == nil {
		t.Error("a misspelled field passed")
	}
}

// yamlBlocks are the blocks of a page that are manifests.
func yamlBlocks(page string) (out []string) {
	for _, part := range strings.Split(page, "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		out = append(out, block)
	}
	return out
}

// checkCommands holds the command lines of all containers below v against the
// flags of sstool.
func checkCommands(t *testing.T, v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			checkCommands(t, x)
		}
	case map[string]any:
		var words []string
		for _, key := range []string{"command", "args"} {
			list, _ := v[key].([]any)
			for _, w := range list {
				words = append(words, strings.Fields(strings.Trim(w.(string), "\n"))...)
			}
		}
		if i := slices.Index(words, "sstool"); i >= 0 {
			cmd, args, err := newRoot(&app{}).Find(words[i+1:])
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range args {
				if name, ok := strings.CutPrefix(a, "--"); ok && cmd.Flags().Lookup(name) == nil {
					t.Errorf("sstool %s has no flag --%s", cmd.Name(), name)
				}
			}
		}
		for _, x := range v {
			checkCommands(t, x)
		}
	}
}
