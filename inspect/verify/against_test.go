//go:build cgo

package verify

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"sstool/inspect"
	"sstool/internal/streams"
)

// copyAt is another copy of the model's store, at an offset.
func (m *model) copyAt(offset int64) *model {
	c := *m
	c.state = m.t.TempDir()
	c.apply(offset)
	return &c
}

func (m *model) where() inspect.RowsOptions { return m.options().Rows }

// TestAgainst: two copies at the same offset have the same rows and digests; at
// two offsets what differs is explained by the records between; what was changed
// is found.
func TestAgainst(t *testing.T) {
	for _, s := range modelStores() {
		t.Run(modelName(s), func(t *testing.T) {
			t.Parallel()
			k, c := open1(t)
			m := newModel(t, rand.New(rand.NewPCG(3, 4)), s, 1000)
			m.produce(k)
			m.apply(799)
			m.write()
			same, later, hurt := m.copyAt(799), m.copyAt(999), m.copyAt(999)
			same.write()
			later.write()
			want := hurt.tamper()
			hurt.write()

			res, err := Against(t.Context(), nil, m.options(), same.where(), nil)
			must(t, err)
			if n := int64(count(m.dbs)); res.Total.Findings() != 0 || res.Total.Same != n || res.Tasks[0].Why != "" || *res.Tasks[0].Local != *res.Tasks[0].Against.Digest {
				t.Errorf("the same: %+v (%s), %d rows", res.Total, res.Tasks[0].Why, n)
			}
			res, err = Against(t.Context(), nil, m.options(), later.where(), nil)
			must(t, err)
			if res.Total.Findings() == 0 || res.Tasks[0].Why == "" {
				t.Errorf("another offset, no cluster: %+v (%s)", res.Total, res.Tasks[0].Why)
			}
			res, err = Against(t.Context(), c, m.options(), later.where(), nil)
			must(t, err)
			segments := s.Kind.Segmented() // whole ones were dropped meanwhile
			if res.Total.Missing+res.Total.Different != 0 || res.Total.Extra != 0 && !segments || res.Total.Ahead == 0 {
				t.Errorf("another offset: %+v", res.Total)
			}
			res, err = Against(t.Context(), c, later.options(), hurt.where(), nil)
			must(t, err)
			got := res.Total // "missing" is what only the other has
			if got.Missing != want.Extra || got.Extra != want.Missing || got.Different != want.Different {
				t.Errorf("changed: %+v, want %+v", got, want)
			}
			if len(res.Tasks[0].Differences) != int(want.Findings()) {
				t.Errorf("%d differences", len(res.Tasks[0].Differences))
			}
		})
	}
}

func count(dbs map[int64]map[string]string) (n int) {
	for db := range maps.Values(dbs) {
		n += len(db)
	}
	return n
}

// TestDigests: without a cluster; the same as the comparison tells.
func TestDigests(t *testing.T) {
	_, c := open1(t)
	var m, twin *model
	for _, to := range []**model{&m, &twin} {
		*to = newModel(t, rand.New(rand.NewPCG(5, 6)), streams.Store{Kind: streams.TimestampedKV}, 500)
		(*to).apply(499)
		(*to).write()
	}
	res, err := Digests(t.Context(), m.options(), nil)
	must(t, err)
	full, err := Against(t.Context(), c, m.options(), twin.where(), nil)
	must(t, err)
	if a, b := res.Tasks[0].Local, full.Tasks[0].Local; *a != *b || a.Rows != int64(count(m.dbs)) || *res.Tasks[0].Partitions[0].Offset != 499 {
		t.Errorf("%s, %s", a, b)
	}
}

// TestSample: no difference where there is none; keys of the changelog are found
// missing and different as by a full comparison when all are picked.
func TestSample(t *testing.T) {
	for _, s := range modelStores() {
		if s.Kind == streams.Versioned {
			continue
		}
		t.Run(modelName(s), func(t *testing.T) {
			t.Parallel()
			k, c := open1(t)
			m := newModel(t, rand.New(rand.NewPCG(7, 8)), s, 1200)
			m.produce(k)
			m.apply(900)
			healthy := m.copyAt(900)
			healthy.write()
			want := m.tamper()
			m.write()
			o := healthy.options()
			o.Sample = 30
			res, err := Changelog(t.Context(), c, o, nil)
			must(t, err)
			if x := res.Sample; res.Total.Findings()+res.Total.Unverifiable != 0 || x.RowKeys == 0 || x.RecordKeys != 30 || res.Total.Same == 0 {
				t.Errorf("%+v, %+v", res.Total, x)
				for _, d := range res.Tasks[0].Differences {
					t.Log(fmt.Sprint(d.Text()), d.Why)
				}
			}
			o = m.options()
			o.Sample = 5000
			res, err = Changelog(t.Context(), c, o, nil)
			must(t, err)
			if got := res.Total; got.Missing != want.Missing || got.Different != want.Different || got.Extra > want.Extra {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestSamplePrunes: of many keys in many blocks, read by several workers, the
// newest record of those that are picked is known.
func TestSamplePrunes(t *testing.T) {
	k, c := open1(t)
	m := newModel(t, rand.New(rand.NewPCG(1, 9)), streams.Store{Kind: streams.TimestampedKV}, 30_000)
	m.produce(k)
	m.apply(29_999)
	m.write()
	for _, n := range []int{1, 10, 300} {
		o := m.options()
		o.Sample = n
		res, err := Changelog(t.Context(), c, o, nil)
		must(t, err)
		if x := res.Sample; res.Total.Findings()+res.Total.Unverifiable+res.Total.Ahead != 0 || x.RowKeys != n || x.RecordKeys != n {
			t.Errorf("%d: %+v, %+v", n, res.Total, x)
		}
	}
}
