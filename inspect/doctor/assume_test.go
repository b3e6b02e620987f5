package doctor

import (
	"context"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
)

func TestOwnTransaction(t *testing.T) {
	const process = "8cd3b3b9-2b51-4976-9a81-00c7dc112789"
	for id, want := range map[string]bool{
		"shop-" + process + "-1": true, "shop-" + process + "-12": true, "shop-0_1": true,
		"shop-v2-" + process + "-1": false, "shop-v2-0_1": false, "shop-" + process: false, "shop-" + process + "-x": false, "shop": false, "other-0_1": false,
	} {
		if ownTransaction("shop", id) != want {
			t.Errorf("%s: not %v", id, want)
		}
	}
	if ownTransaction("", "-0_1") {
		t.Error("an id of nobody")
	}
}

// TestGuaranteeOfProducers: how the application wrote tells how it starts, when
// all that is known agrees.
func TestGuaranteeOfProducers(t *testing.T) {
	for _, x := range []struct {
		ids                   []string
		transactions, without bool
		members               int
		want                  string
	}{
		{[]string{"shop-0_1"}, false, false, 0, "exactly_once_v2"},
		{nil, true, false, 1, "exactly_once_v2"},
		{[]string{"shop-0_1"}, true, true, 1, ""}, // a tool wrote, too; or it was changed
		{nil, false, true, 1, "at_least_once"},
		{nil, false, true, 0, ""}, // a tool may have written since it stopped
		{[]string{"shop-v2-0_1"}, false, false, 0, ""},
		{nil, false, false, 1, ""},
	} {
		f := &facts{o: &Options{}, app: "shop", cluster: &clusterFacts{transactional: x.ids, transactions: x.transactions, without: x.without, members: x.members}}
		if g, why := f.guarantee(); g != x.want || (why == "") != (g == "") {
			t.Errorf("%+v: %q, %q", x, g, why)
		}
		f.o.Guarantee = "at_least_once"
		if g, why := f.guarantee(); g != "at_least_once" || why != "" {
			t.Errorf("what is stated does not hold: %q, %q", g, why)
		}
	}
}

// TestGuaranteeOfTheCluster: transactional ids of the application's name.
func TestGuaranteeOfTheCluster(t *testing.T) {
	dir, _ := lsmtest.Unpack(t, "4.0.2-papi-alos")
	const app = "w402-mini-papi-alos"
	c, client := cluster(t)
	fill(t, c, app+"-ts-kv-changelog", 1, 220, "cleanup.policy=compact")
	o := Options{Path: dir, AppID: app, Client: client, Now: time.Now(), Areas: []string{AreaRestart}}
	if r := run(t, o); r.Guarantee != "" || r.GuaranteeWhy != "" {
		t.Fatalf("%q: %s", r.Guarantee, r.GuaranteeWhy)
	}
	end, err := c.BeginAs(context.Background(), app+"-8cd3b3b9-2b51-4976-9a81-00c7dc112789-1", app+"-ts-kv-changelog", kafkatest.Record{Key: []byte("k"), Value: []byte("v")})
	if err == nil {
		err = end(true)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, o); r.Guarantee != "exactly_once_v2" || !strings.Contains(r.GuaranteeWhy, "in transactions") {
		t.Errorf("%q: %s", r.Guarantee, r.GuaranteeWhy)
	}
}

func TestGuaranteeOfTheLog(t *testing.T) {
	log := "[2026-11-30 10:00:00,000] INFO StreamsConfig values: \n\tapplication.id = shop\n\tprocessing.guarantee = exactly_once_v2\n (org.apache.kafka.streams.StreamsConfig)\n" +
		"[2026-11-30 10:00:01,000] INFO stream-client [shop-1] State transition from CREATED to REBALANCING (org.apache.kafka.streams.KafkaStreams)\n"
	r := run(t, Options{Log: strings.NewReader(log), LogName: "app.log"})
	if r.LastStart == nil || r.LastStart.Guarantee != "exactly_once_v2" || r.Guarantee != "exactly_once_v2" || !strings.Contains(r.GuaranteeWhy, "log") {
		t.Errorf("%+v, %q: %s", r.LastStart, r.Guarantee, r.GuaranteeWhy)
	}
}
