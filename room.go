package horseracing

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// unmarshalList decodes a list. A page of races and the long list of breeding
// offers get room for their slices at once, which halves the allocations of a page.
func unmarshalList(body []byte, out any) error {
	switch list := out.(type) {
	case *[]BreedingListing: // thousands of objects without objects in them
		*list = make([]BreedingListing, 0, bytes.Count(body, []byte("{")))
	case *[]Race:
		const leastRace = 256 // bytes
		if len(body) > leastRace {
			return unmarshalRaces(body, list)
		}
	}
	return unmarshal(body, out)
}

func unmarshalRaces(body []byte, races *[]Race) error {
	roomy := make([]roomyRace, 0, pageSize)
	err := unmarshal(body, &roomy)
	*races = make([]Race, len(roomy))
	for i := range roomy {
		(*races)[i] = Race(roomy[i])
	}
	return err
}

// roomyRace is a Race that is decoded into slices with room.
type roomyRace Race

func (r *roomyRace) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	r.Participants, r.FinalOrder = make([]RaceParticipant, 0, 12), make([]int, 0, 12)
	r.Prizes, r.Winners = make([]Number, 0, 4), make([]int, 0, 4)
	err := json.UnmarshalDecode(d, (*Race)(r))
	r.Participants, r.FinalOrder = nilIfAbsent(r.Participants), nilIfAbsent(r.FinalOrder)
	r.Prizes, r.Winners = nilIfAbsent(r.Prizes), nilIfAbsent(r.Winners)
	return err
}

// nilIfAbsent returns nil for a slice that the decoder left as it was: it replaces
// the slice of an empty array.
func nilIfAbsent[T any](list []T) []T {
	if len(list) == 0 && cap(list) > 0 {
		return nil
	}
	return list
}
