package lint

// Result is what Lint found; it is the JSON document of sstool lint.
type Result struct {
	Applications []Application `json:"applications"`
	Findings     []Finding     `json:"findings"`   // by file and line
	Suppressed   []Suppressed  `json:"suppressed"` // accepted by an ignore or the baseline
	Fixes        []FixList     `json:"fixes"`      // one of each topology with generated names
	Unchecked    []Unchecked   `json:"unchecked"`  // rules without the facts they need
	Counts       Counts        `json:"counts"`
	Gone         []string      `json:"gone"` // fingerprints of the baseline that nothing has any more
}

// Counts are findings by severity.
type Counts struct {
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
	Infos      int `json:"infos"`
	Suppressed int `json:"suppressed"`
}

// Application is what was looked at.
type Application struct {
	ID            string   `json:"application_id"` // "" when nobody told it
	File          string   `json:"file"`
	Topologies    int      `json:"topologies"`
	Subtopologies int      `json:"subtopologies"` // without global ones
	Nodes         int      `json:"nodes"`
	Stores        []string `json:"stores"`
	GlobalStores  []string `json:"global_stores"`
	Changelogs    []string `json:"changelogs"`      // of stores that are logged, which the text does not tell; none of tables restored from their topic
	Internal      []string `json:"internal_topics"` // repartition and foreign-key topics
	Generated     int      `json:"generated_names"`
}

// Finding is one thing that a rule has to say.
type Finding struct {
	Rule     string   `json:"rule"`
	Name     string   `json:"name"` // the rule's
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix"` // "" when the rule's own is meant
	File     string   `json:"file"`
	Line     int      `json:"line"` // 0 when it is of no line
	App      string   `json:"application_id"`
	Topology string   `json:"topology"` // of named topologies
	Subject  string   `json:"subject"`  // the name it is about
	Kind     string   `json:"subject_kind"`
	// Cause is the same for findings that one call in the code cures.
	Cause string `json:"cause"`
	// Fingerprint stays the same while rule, application and subject do,
	// wherever the line moves.
	Fingerprint string  `json:"fingerprint"`
	Others      []Place `json:"others"` // the other ends of a clash

	config *Config
}

// Place is a line of a file.
type Place struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Subject string `json:"subject"`
}

// Kinds of subjects.
const (
	kindStore       = "store"
	kindTopic       = "topic"
	kindRepartition = "repartition topic"
	kindFK          = "foreign-key topic"
	kindChangelog   = "changelog"
	kindProcessor   = "processor"
	kindApplication = "application"
	kindTopology    = "topology"
	kindIgnore      = "ignore"
	kindText        = "text"
)

// What accepted a finding.
const (
	byIgnore   = "ignore"
	byBaseline = "baseline"
)

// Suppressed is a finding that was accepted.
type Suppressed struct {
	Finding
	By     string `json:"by"` // "ignore" or "baseline"
	Reason string `json:"reason"`
}

// FixList says what to name in one release.
type FixList struct {
	App      string `json:"application_id"`
	Topology string `json:"topology"`
	File     string `json:"file"`
	Pins     []Pin  `json:"pins"` // by the number in the name
}

// Pin is one generated name and the call that replaces it.
type Pin struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Line     int      `json:"line"`
	Call     string   `json:"call"`      // with a suggested name in it
	NewName  string   `json:"new_name"`  // what the call makes of Name
	SameCall []string `json:"same_call"` // other generated names that this call replaces
	// Becomes is the name when everything above in the list is pinned and this
	// is not: Name when nothing moves it, NewName when a call above covers it.
	Becomes string `json:"becomes"`
}

// Unchecked is a rule that had not what it needs.
type Unchecked struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}
