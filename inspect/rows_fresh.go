package inspect

// Freshness is how current the rows of one task are.
type Freshness struct{}

func (r *Rows) freshness(p *rowsPart) *Freshness { return nil }
