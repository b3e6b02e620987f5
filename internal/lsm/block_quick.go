package lsm

// quick steps over what nearly every entry of a data block is: short lengths,
// and a key that fits the buffer and sorts after the one before by its first
// byte that is not shared. It does nothing when anything else is there.
func (e *entries) quick() bool {
	d, o := e.data, e.off
	if o+4 > len(d) || d[o]|d[o+1] >= 0x80 || !e.ordered || !e.any || e.separated || e.index != nil {
		return false
	}
	shared, unshared, vlen := int(d[o]), int(d[o+1]), int(d[o+2])
	k := o + 3
	if vlen >= 0x80 {
		if d[k] >= 0x80 {
			return false
		}
		vlen += int(d[k])<<7 - 0x80
		k++
	}
	v, n := k+unshared, shared+unshared
	switch {
	case v+vlen > len(d) || n > cap(e.key) || o == 0 && shared > 0,
		unshared <= keyTrailer || shared >= len(e.key)-keyTrailer, // the byte that tells is not of both user keys
		d[k] <= e.key[shared]:
		return false
	}
	e.key = e.key[:n]
	copy(e.key[shared:], d[k:v])
	e.value = d[v : v+vlen]
	e.start, e.off = o, v+vlen
	return true
}
