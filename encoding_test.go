package horseracing_test

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/internal/double"
)

// storable is what every encoder, of text, of bytes or of BSON, finds at a value.
type storable interface {
	encoding.TextAppender
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	MarshalBSONValue() (byte, []byte, error) // of version 2 of the MongoDB driver
	UnmarshalBSONValue(byte, []byte) error
}

// The module tools/peers has the same with the encoders themselves.
func TestValuesAreReadBackFromBytesAndBSON(t *testing.T) {
	fee, number, at := bigInt("2000000000000000001"), number("-1.50e21"), at(1748779200123)
	cursor := responding(t, "[]").Races.Results(horseracing.ResultsQuery{}).Cursor()
	for name, test := range map[string]struct{ value, empty storable }{
		"BigInt": {&fee, new(horseracing.BigInt)}, "a zero BigInt": {new(horseracing.BigInt), &horseracing.BigInt{}},
		"Number": {&number, new(horseracing.Number)}, "Cursor": {&cursor, new(horseracing.Cursor)}, "a zero Cursor": {new(horseracing.Cursor), new(horseracing.Cursor)},
		"Timestamp": {&at, new(horseracing.Timestamp)}, "a zero Timestamp": {new(horseracing.Timestamp), &horseracing.Timestamp{Time: time.Unix(1, 0)}},
	} {
		var stored bytes.Buffer
		double.Error(t, name+": gob", nil, "", errors.Join(gob.NewEncoder(&stored).Encode(test.value), gob.NewDecoder(&stored).Decode(test.empty)))
		double.Equal(t, name+": gob", test.value, test.empty)
		kind, data, err := test.value.MarshalBSONValue()
		double.Error(t, name+": BSON", nil, "", errors.Join(err, test.empty.UnmarshalBSONValue(kind, data)))
		double.Equal(t, name+": BSON", test.value, test.empty)
		if old, ok := test.value.(interface {
			ProxyBSON() (any, error)
			UnmarshalBSON([]byte) error
		}); ok { // of version 1
			text, _ := old.ProxyBSON()
			if appended, _ := test.value.AppendText([]byte("x")); string(appended) != "x"+text.(string) || old.UnmarshalBSON(data) != nil {
				t.Errorf("%s: %s, %s", name, text, appended)
			}
		}
		for kind, data := range map[byte][]byte{
			1: binary.LittleEndian.AppendUint64(nil, 1<<62), 2: []byte("\x03\x00\x00\x0012"), 3: []byte("\x05\x00\x00\x00\x00"), 9: []byte("1"),
			18: binary.LittleEndian.AppendUint64(nil, 12), 16: nil,
		} {
			if err := test.empty.UnmarshalBSONValue(kind, data); err == nil {
				t.Errorf("%s: BSON of type %d, %q, is read as %v", name, kind, data, test.empty)
			}
		}
	}
}
