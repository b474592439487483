package world

// appendBreeding writes the breeding listing: one horse in a hundred, unless
// its breeding cooldown lasts.
func (w *World) appendBreeding(b []byte, now int64) []byte {
	var open []*horse
	for number := w.schedule.foreign; number <= horseCount; number += 100 {
		if h := w.horse(number); h.cooldown <= now {
			open = append(open, h)
		}
	}
	return appendList(b, len(open), func(b []byte, i int) []byte {
		h := open[i]
		d := drawFrom(w.seed, forBreeding, uint64(h.number))
		first, second, third := d.below(40), d.below(40), d.below(40)
		b = appendText(b, `{"name":`, h.name)
		b = appendInt(b, `,"number":`, h.number)
		b = appendText(b, `,"gender":`, h.gender)
		b = appendInt(b, `,"wins_first_count":`, int64(first))
		b = appendInt(b, `,"wins_second_count":`, int64(second))
		b = appendInt(b, `,"wins_third_count":`, int64(third))
		b = appendInt(b, `,"total_race_count":`, int64(first+second+third+d.below(400)))
		b = append(append(b, `,"price":`...), pick(&d, breedingPrices)...)
		b = appendInt(b, `,"generation":`, int64(h.generation))
		b = appendText(b, `,"tier":`, h.tier)
		return append(b, '}')
	})
}
