package op

// Status is what a check came to.
type Status string

// The statuses. A check that lacked what it needs is Unmeasured, never OK.
const (
	OK         Status = "ok"
	Attention  Status = "warning" // likely not what is wanted
	Wrong      Status = "problem" // state, time or the application is at risk
	Unmeasured Status = "unmeasured"
)

// Weight orders statuses, the heaviest first.
func (s Status) Weight() int {
	switch s {
	case Wrong:
		return 0
	case Attention:
		return 1
	case Unmeasured:
		return 2
	}
	return 3
}

// Found says whether the status is a finding: exit code 3.
func (s Status) Found() bool { return s == Wrong || s == Attention }

// Finding is what one check says of one subject.
type Finding struct {
	ID          string   `json:"id"`   // of the check: "restart.out-of-range"
	Area        string   `json:"area"` // restart, version, changelog, …
	Status      Status   `json:"status"`
	Subject     string   `json:"subject"` // "task 0_1, store counts", a topic, a host; "" for all of it
	Title       string   `json:"title"`   // what is, in one line
	Evidence    []string `json:"evidence"`
	Consequence string   `json:"consequence"` // what will happen; "" when nothing will
	Remedy      []string `json:"remedy"`      // what to do, commands included
	Reason      string   `json:"reason"`      // why it could not be measured; "" when it was
}
