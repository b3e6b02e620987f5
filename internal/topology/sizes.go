package topology

import "math"

// sizer finds the sizes of sub-trees, one sub-topology after the other.
type sizer struct {
	sizes, open []int
	index       map[string]int // of a large one
}

// find is where a node of the name is, -1 if it is nowhere.
func (z *sizer) find(nodes []Node, name string) int {
	if len(nodes) > few {
		if i, ok := z.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range nodes {
		if nodes[i].Name == name {
			return i
		}
	}
	return -1
}

// few nodes are looked through as fast as they are looked up.
const few = 8

// measure is the size of every node's sub-tree: one, and that of each node it
// points at. Only a damaged text has a cycle; what closes it counts as nothing.
// It holds until the next call.
func (z *sizer) measure(nodes []Node) []int {
	if len(nodes) > few {
		z.index = make(map[string]int, len(nodes))
		for i := range nodes {
			z.index[nodes[i].Name] = i
		}
	}
	const untouched, begun = 0, -1
	z.sizes = append(z.sizes[:0], make([]int, len(nodes))...)
	sizes, open := z.sizes, z.open // nodes whose size is being found; not the call stack, as chains are long
	for i := range nodes {
		open = append(open[:0], i)
		for len(open) > 0 {
			at := open[len(open)-1]
			if sizes[at] > 0 {
				open = open[:len(open)-1]
				continue
			}
			first, waiting := sizes[at] == untouched, false
			sizes[at] = begun
			size := 1
			for _, name := range nodes[at].Next {
				to := z.find(nodes, name)
				switch {
				case to < 0:
				case sizes[to] == untouched && first:
					open, waiting = append(open, to), true
				case sizes[to] > 0 && size > math.MaxInt-sizes[to]:
					size = math.MaxInt
				case sizes[to] > 0:
					size += sizes[to]
				}
			}
			if !waiting {
				sizes[at] = size
				open = open[:len(open)-1]
			}
		}
	}
	z.open = open
	return sizes
}
