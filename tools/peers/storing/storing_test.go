// Package storing checks which encoders values of the SDK survive.
package storing

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/fxamacker/cbor/v2"
	"github.com/go-viper/mapstructure/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/ledger"
	"github.com/mitchellh/hashstructure/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/vmihailenco/msgpack/v5"
	bson1 "go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/v2/bson"
	"gopkg.in/yaml.v3"
)

// An encoder encodes a value and decodes it.
type encoder struct {
	encode func(any) ([]byte, error)
	decode func([]byte, any) error
	except cmp.Options // what it changes by design
}

// withFractions is CBOR that does not round a time.Time to seconds, as it does by default.
var withFractions, _ = cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()

// JSON is tested where the types are.
var encoders = map[string]encoder{
	"bson, version 1": {bson1.Marshal, bson1.Unmarshal, nil},
	"bson":            {bson.Marshal, bson.Unmarshal, nil},
	"cbor":            {withFractions.Marshal, cbor.Unmarshal, nil},
	"gob": {
		func(v any) ([]byte, error) {
			var out bytes.Buffer
			err := gob.NewEncoder(&out).Encode(v)
			return out.Bytes(), err
		},
		func(data []byte, v any) error { return gob.NewDecoder(bytes.NewReader(data)).Decode(v) },
		cmp.Options{cmp.Transformer("zero", func(p *int) int { // a pointer to zero becomes nil
			if p == nil {
				return 0
			}
			return *p
		})},
	},
	"msgpack": {msgpack.Marshal, msgpack.Unmarshal, nil},
	"toml":    {toml.Marshal, toml.Unmarshal, nil},
	"yaml":    {yaml.Marshal, yaml.Unmarshal, nil},
}

// stored is a document with one of everything that a service lists or a program keeps.
type stored struct {
	Races       []horseracing.Race
	Horses      []horseracing.Horse
	Breeding    []horseracing.BreedingListing
	Tournaments []horseracing.Tournament
	Missions    horseracing.HorseMissions
	Catalogue   horseracing.MissionCatalogue
	Entry       ledger.Entry
	Cursor      horseracing.Cursor
	None        horseracing.Cursor
	Number      horseracing.Number
	Fees        map[string]horseracing.BigInt
	Time        horseracing.Timestamp
	Never       horseracing.Timestamp
}

// everything is what the documented responses contain, with amounts that no float64 has.
func everything(t *testing.T) (s stored) {
	for file, out := range map[string]any{
		"races_results_v2.json": &s.Races, "horses_user.json": &s.Horses, "breeding_open.json": &s.Breeding,
		"tournaments_results.json": &s.Tournaments, "horse_missions.json": &s.Missions, "missions.json": &s.Catalogue,
	} {
		data, missing := os.ReadFile(filepath.Join("../../../testdata", file))
		if err := errors.Join(missing, json.Unmarshal(data, out)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var fee horseracing.BigInt
	for text, out := range map[string]any{"2000000000000000001": &fee, "-12.50e-3": &s.Number, `["1e3",5]`: &s.Missions.Missions[0].Progress} {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			t.Fatal(err)
		}
	}
	s.Races[0].EntryFee, s.Races[0].Prizes = fee, []horseracing.Number{horseracing.Number(fee), s.Number, {}}
	s.Tournaments[0].EntryFee = horseracing.BigIntFrom(nil).Sub(fee)
	s.Entry = ledger.Entry{Horse: 7, Race: 11, Fee: fee, State: ledger.Entered, Time: time.UnixMilli(1748779200123).UTC()}
	s.Fees, s.Time = map[string]horseracing.BigInt{"a": fee, "zero": {}}, horseracing.NewTimestamp(s.Entry.Time)
	return s
}

// Nothing is lost without an error, whatever a program stores values with.
func TestValuesAreStoredAndReadBackEqual(t *testing.T) {
	want := everything(t)
	for name, e := range encoders {
		t.Run(name, func(t *testing.T) {
			data, failed := e.encode(want)
			var got stored
			if err := errors.Join(failed, e.decode(data, &got)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), e.except); diff != "" {
				t.Errorf("-stored +read:\n%.3000s", diff)
			}
		})
	}
}

// amounts has each type of amount, and its text.
type amounts struct {
	Fee   horseracing.BigInt
	Prize horseracing.Number
	Text  string
}

// Encoders that read exported fields only store nothing of an amount, and return no error. They keep its text. All
// others store it whole, as the test above shows.
func TestTableOfEncoders(t *testing.T) {
	fee, _ := horseracing.ParseUnits("2500000000000000001", 0)
	in := amounts{Fee: fee, Prize: horseracing.Number(fee), Text: fee.String()}
	want := amounts{Text: in.Text}
	expect := func(name string, got amounts, err error) {
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
	var file bytes.Buffer
	failed := parquet.Write(&file, []amounts{in})
	rows, err := parquet.Read[amounts](bytes.NewReader(file.Bytes()), int64(file.Len()))
	expect("parquet-go", rows[0], errors.Join(failed, err))

	members, out := map[string]any{}, amounts{}
	err = errors.Join(mapstructure.Decode(in, &members), mapstructure.Decode(members, &out))
	expect("mapstructure", out, err)

	hash, err := hashstructure.Hash(in, hashstructure.FormatV2, nil)
	hashOfText, _ := hashstructure.Hash(want, hashstructure.FormatV2, nil)
	if hash != hashOfText || err != nil {
		t.Errorf("hashstructure: %v, and amounts have hashes of their own", err)
	}
}
