package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
)

// TestTheBrokerDies: what is known stays on the screen, the title says that
// nobody answers, and when the broker is back so are its figures.
func TestTheBrokerDies(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	start := func(listen string) *kafkatest.Cluster {
		t.Helper()
		c, err := kafkatest.Start(kafkatest.Options{ClusterID: "mortal", Listen: listen})
		for end := time.Now().Add(time.Minute); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			c, err = kafkatest.Start(kafkatest.Options{ClusterID: "mortal", Listen: listen}) // another connection has the port
		}
		if err == nil {
			err = c.Topic(filepath.Base(app)+"-plain-kv-changelog", 1, "cleanup.policy", "compact")
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := start("")
	addrs := c.Addrs()
	d, until := follow(t, Options{Now: time.Now, Poll: 50 * time.Millisecond, Contexts: []Context{{Path: app, Cluster: "embedded",
		Connect: func(ctx context.Context) (*kafka.Client, error) {
			return kafka.Open(ctx, kafka.Config{Bootstrap: addrs})
		}}}})
	until("mortal ●")
	c.Close()
	until("no answer")
	d.has("plain-kv", "ts-win")
	d.keys("/", "=plain-kv", "enter", "enter", "6", "7", "8", "1")
	d.check(80, 24)
	again := start(addrs[0])
	t.Cleanup(again.Close)
	until("mortal ●")
}

// TestTheDirectoryVanishes: it is said, and when the directory is there again
// it is seen without being asked for.
func TestTheDirectoryVanishes(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	d, until := follow(t, Options{Now: time.Now, Contexts: []Context{{Path: app}}})
	until("8 stores")
	d.keys("enter", "3")
	moved := app + ".moved"
	if err := os.Rename(app, moved); err != nil {
		t.Fatal(err)
	}
	until("no such file")
	d.keys("1", "2", "3", "4", "5", "6", "7", "esc", "esc")
	d.check(80, 24)
	err := os.RemoveAll(filepath.Join(moved, "0_0", "rocksdb", "ts-kv"))
	if err == nil {
		err = os.Rename(moved, app)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.keys(":", "=stores", "enter")
	until("7 stores")
	if strings.Contains(d.text(), "no such file") {
		t.Errorf("it still says that the directory is gone:\n%s", d.text())
	}
	// A directory that is made anew under its old name is followed like before.
	db := filepath.Join(app, "0_0", "rocksdb", "plain-kv")
	if err = os.Rename(db, moved); err != nil {
		t.Fatal(err)
	}
	until("6 stores")
	if err = os.Rename(moved, db); err != nil {
		t.Fatal(err)
	}
	until("7 stores")
	time.Sleep(leastRest)
	if err = os.Remove(filepath.Join(db, "CURRENT")); err != nil {
		t.Fatal(err)
	}
	until("2 problems")
}

// manyStores is a driver on an application of so many stores.
func manyStores(t *testing.T, stores int) (*driver, inspect.MapApp) {
	n := int64(5)
	kind := "timestamped-kv"
	a := inspect.MapApp{ID: "big", Dir: "/big"}
	for i := range stores / 10 {
		task := fmt.Sprintf("%d_%d", i/100, i%100)
		a.Tasks = append(a.Tasks, inspect.MapTask{Task: task, Dir: "/big/" + task, Stores: 10})
		for j := range 10 {
			name := fmt.Sprintf("store-%d", j)
			a.Stores = append(a.Stores, inspect.MapStore{App: "big", Task: task, Name: name, Dir: a.Tasks[i].Dir + "/" + name, Kind: inspect.MapKind{Kind: &kind}, Keys: inspect.MapKeys{Count: &n}, Size: int64(i)})
		}
	}
	d := newDriver(t, Options{Contexts: []Context{{Path: "/big"}}})
	d.send(snapshotMsg{d.m.gen, &snapshot{disk: &inspect.Map{Path: "/big", Apps: []inspect.MapApp{a}}, at: pinned()}})
	return d.size(200, 50), a
}

// TestTenThousandStores: keys stay quick, and screens whole.
func TestTenThousandStores(t *testing.T) {
	const stores = 10_000
	d, a := manyStores(t, stores)
	d.has("10,000 stores")
	few, _ := manyStores(t, stores/10)
	// The time of the slowest key; the best of several looks, as other processes may have the machine.
	slowest := func(d *driver) (most time.Duration) {
		for _, k := range []string{"down", "pgdown", "end", "up", "home", "s", "s", "S", "/", "=7_42", "esc", "enter", "1", "esc", "esc"} {
			begun := time.Now()
			d.keys(k)
			most = max(most, time.Since(begun))
			d.check(200, 50)
		}
		return most
	}
	const tries = 4
	for try := 1; ; try++ {
		each, small := slowest(d), slowest(few)
		t.Logf("a key takes %v with %d stores, %v with a tenth of them", each, stores, small)
		// Some 20 ms when nothing else runs; on a slow machine no more than the number of stores explains.
		if each <= time.Second || each <= 40*small {
			break
		}
		if try == tries {
			t.Fatalf("a key takes %v with %d stores, %v with a tenth of them", each, stores, small)
		}
	}
	begun := time.Now()
	d.send(snapshotMsg{d.m.gen, &snapshot{disk: &inspect.Map{Path: "/big", Apps: []inspect.MapApp{a}}, at: pinned().Add(time.Second)}})
	t.Logf("a snapshot takes %v", time.Since(begun))
}
