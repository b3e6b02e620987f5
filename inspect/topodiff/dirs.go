package topodiff

// Dir is the directory of a store on this host.
type Dir struct {
	App, Topology string // whose it is; Topology of a named one
	Store, Path   string
	Subtopology   int // of its task; -1 of a global store
}

// directories tells, of each store, the directories that the new version does
// not open any more: it has no store of that name in that sub-topology.
func (d *differ) directories() {
	of := map[string][]Dir{}
	for _, dir := range d.o.Dirs {
		of[dir.Store] = append(of[dir.Store], dir)
	}
	for i := range d.r.Stores {
		it := &d.r.Stores[i]
		if it.Old == nil {
			continue
		}
		sub := -1
		if !it.Old.Global {
			sub = *it.Old.Subtopology
		}
		for _, dir := range of[it.Old.Name] {
			if dir.Subtopology == sub && (prefix{dir.App, dir.Topology}) == d.oldNames && !d.opens(dir) {
				it.Directories = append(it.Directories, dir.Path)
			}
		}
	}
}

func (d *differ) opens(dir Dir) bool {
	if d.oldNames != d.newNames {
		return false
	}
	for _, i := range d.new.names[nameKey{store, dir.Store}] {
		v := &d.new.v[i]
		if v.global && dir.Subtopology < 0 || !v.global && v.sub == dir.Subtopology {
			return true
		}
	}
	return false
}
