package cmd

import (
	"bufio"
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sstool/inspect"
	"sstool/inspect/lint"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/topology"
)

// lintFacts collects what was asked for; client is nil without a cluster.
func (a *app) lintFacts(ctx context.Context, f *lintFlags, client *kafka.Client, o *lint.Options, warn func(string)) error {
	switch {
	case client != nil && f.partitions != "":
		return op.Errorf(op.Usage, "--topic-partitions and a cluster both tell partition counts").WithTry("give one of them")
	case f.partitions != "":
		var err error
		if o.Facts, err = readPartitions(f.partitions); err != nil {
			return err
		}
	case client != nil:
		if err := f.askCluster(ctx, client, o, warn); err != nil {
			return err
		}
	case f.sampleKeys.set:
		return op.Errorf(op.Usage, "--sample-keys reads topics of a cluster").WithTry("--bootstrap-server HOST:PORT")
	}
	if f.stateDir != "" && (a.given["state-dir"] || a.given["context"]) {
		var err error
		o.Dirs, err = storesOnDisk(ctx, f.stateDir)
		return err
	}
	return nil
}

// describedTopic is a topic's line of kafka-topics.sh --describe.
var describedTopic = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*Topic:\s*(\S+)\s.*PartitionCount:\s*(\d+)`) })

// readPartitions reads lines "TOPIC PARTITIONS", also with ":", "," or "=" in
// between, or what kafka-topics.sh --describe prints.
func readPartitions(path string) (*lint.Facts, error) {
	file, err := openText("--topic-partitions", path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	facts := &lint.Facts{Topics: map[string]lint.Topic{}, From: path}
	in := bufio.NewScanner(file)
	described := false
	for line := 1; in.Scan(); line++ {
		text, _, _ := strings.Cut(in.Text(), "#")
		if m := describedTopic().FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[2])
			facts.Topics[m[1]], described = lint.Topic{Partitions: n}, true
			continue
		}
		words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t,:=", r) })
		if len(words) == 0 || described {
			continue // the partitions of the topic described last
		}
		n, err := 0, error(nil)
		if len(words) == 2 {
			n, err = strconv.Atoi(words[1])
		}
		if len(words) != 2 || err != nil || n < 1 {
			return nil, op.Errorf(op.Usage, "%s:%d: expected a topic and its number of partitions, found %q", path, line, strings.TrimSpace(in.Text()))
		}
		if old, again := facts.Topics[words[0]]; again && old.Partitions != n {
			return nil, op.Errorf(op.Usage, "%s:%d: topic %s has %d partitions here, %d before", path, line, words[0], n, old.Partitions)
		}
		facts.Topics[words[0]] = lint.Topic{Partitions: n}
	}
	if err := in.Err(); err != nil {
		return nil, op.Errorf(op.Usage, "%s: %w", path, err)
	}
	return facts, nil
}

// askCluster collects topics, the configuration of those that matter, the
// groups, and with --sample-keys the keys of the sources.
func (f *lintFlags) askCluster(ctx context.Context, client *kafka.Client, o *lint.Options, warn func(string)) error {
	topics, err := client.Topics(ctx)
	if err != nil {
		return err
	}
	facts := &lint.Facts{Topics: map[string]lint.Topic{}, Complete: true, From: "the cluster"}
	for _, t := range topics {
		facts.Topics[t.Name] = lint.Topic{Partitions: len(t.Partitions)}
	}
	internal, sources := lintTopics(o.Inputs)
	for _, name := range slices.Concat(internal, sources) {
		t, exists := facts.Topics[name]
		if !exists || t.Config != nil {
			continue
		}
		if t.Config, err = client.TopicConfig(ctx, name); err != nil {
			if ctx.Err() != nil {
				return err
			}
			warn("the configuration of topic " + name + " is not compared: " + err.Error())
			break
		}
		facts.Topics[name] = t
	}
	if facts.Groups, err = client.GroupIDs(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		warn("the groups of the cluster are not compared: " + err.Error())
	}
	facts.Groups = slices.DeleteFunc(facts.Groups, func(g string) bool { return g == "" })
	o.Facts = facts
	if f.sampleKeys.set {
		for _, name := range sources {
			if _, exists := facts.Topics[name]; exists {
				s, err := sampleKeys(ctx, client, name, f.sampleKeys.n)
				if err != nil {
					return err
				}
				o.Samples = append(o.Samples, s...)
			}
		}
	}
	return nil
}

// lintTopics are the topics that the applications make, as far as their ids
// are known, and those that they read.
func lintTopics(inputs []lint.Input) (internal, sources []string) {
	for _, in := range inputs {
		for i := range in.Topologies {
			t := &in.Topologies[i]
			id := in.AppID
			if id == "" {
				id = t.ApplicationID
			}
			made := map[string]bool{}
			for _, x := range t.InternalTopics(id) {
				made[x.Bare] = x.Kind != topology.Changelog
				if id != "" {
					internal = append(internal, x.Name)
				}
			}
			for _, n := range t.All() {
				for _, name := range n.Topics {
					if n.Kind == topology.Source && !made[name] {
						sources = append(sources, name)
					}
				}
			}
		}
	}
	slices.Sort(internal)
	slices.Sort(sources)
	return slices.Compact(internal), slices.Compact(sources)
}

// storesOnDisk are the stores of the applications below a state directory.
func storesOnDisk(ctx context.Context, stateDir string) ([]lint.Dir, error) {
	tree, err := inspect.Find(ctx, stateDir)
	if err != nil && op.KindOf(err) != op.NotFound {
		return nil, err
	}
	out := []lint.Dir{}
	if err != nil {
		if _, gone := os.Stat(stateDir); gone != nil {
			return nil, op.Errorf(op.NotFound, "--state-dir: %w", gone)
		}
		return out, nil // nothing in it yet
	}
	return append(out, lint.DirsOf(tree)...), nil
}
