package worldtest

// Operator is an application of the Operators profiles: together they have
// every operator of Kafka Streams, with names and without, optimised and not.
type Operator struct {
	Name     string
	Profile  string
	Settings map[string]string
	Inputs   []string // its topics beside "out", without the application id
	Unlogged []string // stores without a changelog, which no description tells
	Odd      bool     // it has names that Kafka refuses: it can be described, not started
}

// Optimized says whether the application runs with topology.optimization=all.
func (o Operator) Optimized() bool { return o.Settings["topology.optimization"] == "all" }

// App makes an application of it.
func (o Operator) App(id, bootstrap, stateDir string) App {
	return App{ID: id, Profile: o.Profile, Bootstrap: bootstrap, StateDir: stateDir, Settings: o.Settings}
}

// Operators returns all of them.
func Operators() []Operator {
	var out []Operator
	for _, p := range []Operator{
		{Profile: "op-stateless", Inputs: []string{"in", "in2", "db.a.x1"}},
		{Profile: "op-aggregations", Inputs: []string{"in", "table"}},
		{Profile: "op-windows", Inputs: []string{"in", "table"}},
		{Profile: "op-stream-joins", Inputs: []string{"l", "r"}},
		{Profile: "op-table-joins", Inputs: []string{"x", "y", "v", "s", "g", "pg"}},
	} {
		for _, names := range []string{"", "-named"} {
			for _, optimization := range []string{"none", "all"} {
				o := p
				o.Profile += names
				o.Name, o.Settings = o.Profile[len("op-"):], map[string]string{"topology.optimization": optimization}
				if o.Optimized() {
					o.Name += "-optimised"
				}
				out = append(out, o)
			}
		}
	}
	return append(out,
		Operator{Name: "processors", Profile: "op-processors", Settings: map[string]string{"topology.optimization": "none"}, Inputs: []string{"a", "b", "y", "z", "topic1", "g"}, Unlogged: []string{"unlogged"}},
		Operator{Name: "odd", Profile: "op-odd", Settings: map[string]string{"topology.optimization": "none"}, Odd: true})
}
