package horseracing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// payloadTypes says what each file of testdata holds.
var payloadTypes = map[string]reflect.Type{
	"breeding_open.json":             reflect.TypeFor[[]BreedingListing](),
	"horse.json":                     reflect.TypeFor[Horse](),
	"horse_missions.json":            reflect.TypeFor[HorseMissions](),
	"horse_missions_optionals.json":  reflect.TypeFor[HorseMissions](),
	"horses_unseen_values.json":      reflect.TypeFor[[]Horse](),
	"horses_user.json":               reflect.TypeFor[[]Horse](),
	"missions.json":                  reflect.TypeFor[MissionCatalogue](),
	"missions_optionals.json":        reflect.TypeFor[MissionCatalogue](),
	"race.json":                      reflect.TypeFor[[]Race](),
	"races_amounts.json":             reflect.TypeFor[[]Race](),
	"races_open.json":                reflect.TypeFor[[]Race](),
	"races_results_v1.json":          reflect.TypeFor[[]Race](),
	"races_results_v2.json":          reflect.TypeFor[[]Race](),
	"races_unseen_values.json":       reflect.TypeFor[[]Race](),
	"register.json":                  reflect.TypeFor[json.RawMessage](),
	"tournament.json":                reflect.TypeFor[Tournament](),
	"tournament_array_of_one.json":   reflect.TypeFor[[]Tournament](),
	"tournament_currency_prize.json": reflect.TypeFor[Tournament](),
	"tournaments_open.json":          reflect.TypeFor[[]Tournament](),
	"tournaments_results.json":       reflect.TypeFor[[]Tournament](),
}

// Users store what they read, with whichever encoder they use: every pair of
// decoder and encoder gives back what was on the wire.
func TestEncodingADecodedPayloadGivesItBack(t *testing.T) {
	decoders := map[string]func([]byte, any) error{
		"this SDK's decoder": unmarshal,
		"encoding/json":      json.Unmarshal,
	}
	encoders := map[string]func(any) ([]byte, error){
		"encoding/json": json.Marshal,
		"version 2":     func(v any) ([]byte, error) { return jsonv2.Marshal(v) },
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if file.IsDir() {
			continue // kept by fuzz targets and property tests
		}
		kind, known := payloadTypes[file.Name()]
		if !known {
			t.Errorf("testdata/%s has no type in the table", file.Name())
			continue
		}
		wire := payload(t, file.Name())
		for decoder, decode := range decoders {
			for encoder, encode := range encoders {
				t.Run(fmt.Sprintf("%s/%s to %s", file.Name(), decoder, encoder), func(t *testing.T) {
					value := reflect.New(kind)
					if err := decode(wire, value.Interface()); err != nil {
						t.Fatal(err)
					}
					// By value, as a user's struct holds it, not by pointer.
					back, err := encode(value.Elem().Interface())
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(settled(exactJSON(t, wire)), exactJSON(t, back), byNumber); diff != "" {
						t.Errorf("(-wire +encoded):\n%s", diff)
					}
				})
			}
		}
	}
	if len(files) < len(payloadTypes) {
		t.Errorf("%d files in testdata, %d in the table", len(files), len(payloadTypes))
	}
}

// Each notation has one spelling when it is written again.
func TestNumbersAreWrittenAsDocumented(t *testing.T) {
	var race Race
	const wire = `{"main_race_id":1,"start_time":1.7672256e12,"entry_fee":1.5e21,"prizes":[1e+21,12.50]}`
	if err := unmarshal([]byte(wire), &race); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(race)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"start_time":1767225600000,`,                 // milliseconds as an integer literal
		`"entry_fee":1500000000000000000000,`,         // an integer as an integer literal
		`"prizes":[1e+21,12.50],`,                     // a number as it was read
		`"main_race_id":1,"start_time":1767225600000`, // members in the documented order
	} {
		if !bytes.Contains(encoded, []byte(want)) {
			t.Errorf("%s\ndoes not hold %s", encoded, want)
		}
	}
	for _, absent := range []string{"_id", "registration_deadline", "lane", "min_level", "final_order", "participants", "winners"} {
		if bytes.Contains(encoded, []byte(`"`+absent+`"`)) {
			t.Errorf("%s\nholds %s, which was absent", encoded, absent)
		}
	}
}

func TestAnAbsentListAndAnEmptyOneStayWhatTheyAre(t *testing.T) {
	for _, wire := range []string{
		`{"missions":[]}`,
		`{}`,
	} {
		var record HorseMissions
		if err := unmarshal([]byte(wire), &record); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		if holds, held := bytes.Contains(encoded, []byte(`"missions"`)), bytes.Contains([]byte(wire), []byte(`"missions"`)); holds != held {
			t.Errorf("%s became %s", wire, encoded)
		}
	}
}

// nullIsAbsent are the members that the interface document marks as absent or
// null: one Go value, nil, stands for both.
var nullIsAbsent = map[string]bool{
	"place": true, "hippodrome": true, "furlongs": true,
	"furlong_min": true, "furlong_max": true,
	"hippodrome_type_min": true, "hippodrome_type_max": true,
	"place_min": true, "place_max": true,
}

// zeroIsAbsent are the plain numbers that the document does not always show.
var zeroIsAbsent = map[string]bool{"lane": true, "total": true, "min_level": true, "max_level": true}

var byNumber = cmp.Comparer(func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })

// exactJSON parses a payload into maps, slices, strings and exact numbers, so
// that 1e+21 equals the integer literal that it means.
func exactJSON(t testing.TB, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return exact(t, "", value)
}

func exact(t testing.TB, name string, value any) any {
	switch v := value.(type) {
	case json.Number:
		n, ok := new(big.Rat).SetString(v.String())
		if !ok {
			t.Fatalf("%s is not a number", v)
		}
		return n
	case string:
		if name == "breeding_cooldown" {
			instant, err := time.Parse(time.RFC3339, v)
			if err != nil {
				t.Fatal(err)
			}
			return instant
		}
	case []any:
		for i := range v {
			v[i] = exact(t, "", v[i])
		}
	case map[string]any:
		for member, value := range v {
			v[member] = exact(t, member, value)
		}
	}
	return value
}

// settled takes out of a parsed payload what is written as absent.
func settled(value any) any {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			settled(element)
		}
	case map[string]any:
		for member, value := range v {
			n, isNumber := value.(*big.Rat)
			if value == nil && nullIsAbsent[member] || isNumber && n.Sign() == 0 && zeroIsAbsent[member] {
				delete(v, member)
				continue
			}
			settled(value)
		}
	}
	return value
}
