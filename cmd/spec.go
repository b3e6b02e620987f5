package cmd

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/spec"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

const specLong = `Writes the store specification of an application, which sstool restore --spec
reads: which stores it has, of which kind, and where they belong. Each value has a
comment that says where it comes from; what cannot be known is left out and named.

Three sources, alone or together: an existing state directory (certain), the text
of Topology#describe() (stores and sub-topologies), and the topics of a cluster
(what their configuration tells). A value that was only derived is written as a
comment, for you to vouch for, unless --accept-derived.`

// specFlags are the flags of sstool spec.
type specFlags struct {
	kafka                     kafkaFlags
	appID, stateDir, topology string
	guarantee                 choiceValue
	target                    string
	acceptDerived, plain      bool
	out                       outputFlag
}

func newSpec(a *app) *cobra.Command {
	var f specFlags
	cmd := &cobra.Command{
		Use:   "spec",
		Short: "write an application's store specification from a state directory, a topology or a cluster",
		Long:  specLong,
		Example: `  sstool spec --state-dir /var/lib/kafka-streams --application-id orders > orders.yaml
  sstool spec --topology describe.txt --bootstrap-server localhost:9092 --application-id orders`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, or two sources contradict each other"},
			{10, "no such directory, file, or changelog"}, {12, "a file of the state directory is corrupt"},
			{13, "Kafka unreachable or access denied"}, {14, "the cluster id differs"},
		}),
		Args: noArgs,
	}
	section(cmd, "Sources", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.appID, "application-id", "", "application.id of the Kafka Streams application, `ID`")
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of the application")
		fs.StringVar(&f.topology, "topology", "", "`FILE` with the text of Topology#describe(); - is stdin")
		f.kafka.register(cmd)
	})
	section(cmd, "The specification", func(fs *pflag.FlagSet) {
		f.guarantee.choices = []string{spec.AtLeastOnce, spec.ExactlyOnce}
		fs.Var(&f.guarantee, "processing-guarantee", "state the `GUARANTEE`: at_least_once or exactly_once_v2")
		fs.StringVar(&f.target, "target-kafka", "", "state the Kafka `VERSION` of the application")
		fs.BoolVar(&f.acceptDerived, "accept-derived", false, "write derived values as if they were stated")
		fs.BoolVar(&f.plain, "plain", false, "leave out the comments")
		f.out.register(cmd, formatYAML, formatJSON)
	})
	complete(cmd, "processing-guarantee", f.guarantee.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error { return a.spec(cmd.Context(), &f) })
	return cmd
}

// spec is the command: sources → merged specification → YAML or JSON.
func (a *app) spec(ctx context.Context, f *specFlags) error {
	show := a.startProgress(progressFlag{"none"})
	defer show.close()
	s, err := a.collectSpec(ctx, f, show.warn)
	if err != nil {
		return err
	}
	if f.out.value == formatJSON {
		return a.emitJSON("spec", newSpecDoc(s))
	}
	return spec.Print(a.io.Out, s, spec.PrintOptions{AcceptDerived: f.acceptDerived, Plain: f.plain})
}

// collectSpec asks every source that was named, the most certain one first.
func (a *app) collectSpec(ctx context.Context, f *specFlags, warn func(string)) (*spec.Spec, error) {
	stated, err := f.stated()
	if err != nil {
		return nil, err
	}
	specs := []*spec.Spec{stated}
	if f.stateDir != "" {
		if err := checkDir("--state-dir", f.stateDir); err != nil {
			return nil, err
		}
		dir := f.stateDir
		if f.appID != "" && filepath.Base(filepath.Clean(dir)) != f.appID {
			dir = filepath.Join(dir, f.appID)
		}
		s, err := spec.FromStateDir(dir)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	if f.topology != "" {
		s, err := a.specFromTopology(f)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	if f.kafka.bootstrap != "" || f.kafka.commandConfig != "" {
		s, err := specFromTopics(ctx, f, warn)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	if len(specs) == 1 {
		return nil, op.Errorf(op.Usage, "nothing to read stores from").
			WithTry("--state-dir DIR, --topology FILE, or --bootstrap-server HOST:PORT with --application-id ID")
	}
	return spec.Merge(specs...)
}

// stated is what the flags say of the application.
func (f *specFlags) stated() (*spec.Spec, error) {
	from := spec.Source{Text: "as given", Certain: true}
	s := &spec.Spec{From: map[spec.Field]spec.Source{}}
	if f.target != "" {
		v, err := streams.ParseVersion(f.target)
		if err == nil {
			err = v.CheckTarget()
		}
		if err != nil {
			return nil, err
		}
	}
	for field, v := range map[spec.Field]struct{ to, value *string }{
		spec.FieldApplicationID: {&s.ApplicationID, &f.appID},
		spec.FieldGuarantee:     {&s.Guarantee, &f.guarantee.value},
		spec.FieldKafkaVersion:  {&s.KafkaVersion, &f.target},
	} {
		if *v.value != "" {
			*v.to, s.From[field] = *v.value, from
		}
	}
	return s, nil
}

func (a *app) specFromTopology(f *specFlags) (*spec.Spec, error) {
	var in io.Reader = a.io.In
	if f.topology != "-" {
		file, err := os.Open(f.topology)
		if os.IsNotExist(err) {
			return nil, op.Errorf(op.NotFound, "topology: %w", err)
		}
		if err != nil {
			return nil, op.Errorf(op.Failed, "topology: %w", err)
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, op.Errorf(op.Usage, "topology: %s is a directory, expected the text of Topology#describe()", f.topology).
				WithTry("--state-dir %s reads a state directory", f.topology)
		}
		in = file
	}
	m, err := topology.Parse(in, topology.Options{All: true})
	if err != nil {
		return nil, &op.Error{Kind: op.KindOf(err), What: "topology " + f.topology, Err: err}
	}
	return spec.FromTopology(m, f.appID)
}

// specFromTopics asks a cluster for the changelogs of the application.
func specFromTopics(ctx context.Context, f *specFlags, warn func(string)) (*spec.Spec, error) {
	if f.appID == "" {
		return nil, op.Errorf(op.Usage, "which application of the cluster?").WithTry("--application-id ID")
	}
	client, err := f.kafka.open(ctx, warn)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	topics, err := client.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var facts []spec.TopicFacts
	for _, t := range topics {
		fact := spec.TopicFacts{Name: t.Name, Partitions: len(t.Partitions)}
		if _, ok := streams.StoreOfChangelog(f.appID, t.Name); ok {
			if fact.Configs, err = client.TopicConfig(ctx, t.Name); err != nil {
				return nil, err
			}
		}
		facts = append(facts, fact)
	}
	return spec.FromTopics(f.appID, facts)
}
