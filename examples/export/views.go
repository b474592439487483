package main

// views are made anew at each start, so that an older database gets today's.
//
// A participant without a total did not run, or the service left it out. SQLite
// has no median: speed takes the middle of the sorted totals.
const views = `
DROP VIEW IF EXISTS form;
CREATE VIEW form AS
SELECT horse, starts, places, round(average_place, 2) AS average_place, round(average_runners, 1) AS average_runners, start_time AS last_start
FROM (
	SELECT horse, start_time,
		row_number() OVER newest AS nth,
		count(*) OVER (PARTITION BY horse) AS starts,
		group_concat(coalesce(place, '-'), ' ') OVER last_ten AS places,
		avg(place) OVER last_ten AS average_place,
		avg(runners) OVER last_ten AS average_runners
	FROM (SELECT *, count(*) OVER (PARTITION BY race_id, start_time) AS runners FROM participants)
	WINDOW newest AS (PARTITION BY horse ORDER BY start_time DESC, race_id DESC),
		last_ten AS (newest ROWS BETWEEN CURRENT ROW AND 9 FOLLOWING))
WHERE nth = 1;

DROP VIEW IF EXISTS fees;
CREATE VIEW fees AS
SELECT race_id, horse, sent_at, state, fee, max(start_time) AS start_time, place, json_extract(prizes, '$[' || (place - 1) || ']') AS prize
FROM registrations LEFT JOIN participants USING (race_id, horse) LEFT JOIN races USING (race_id, start_time)
WHERE state IN ('entered', 'unknown', 'sending') -- what may have been paid
GROUP BY race_id, horse; -- one fee, if it ran in several heats: beside the last

DROP VIEW IF EXISTS speed;
CREATE VIEW speed AS
WITH runs AS (
	SELECT race_id, horse, start_time, hippodrome, turf, length, total,
		row_number() OVER (PARTITION BY hippodrome, turf, length ORDER BY total) AS nth,
		count(*) OVER (PARTITION BY hippodrome, turf, length) AS runs
	FROM participants JOIN races USING (race_id, start_time) WHERE total > 0),
medians AS (
	SELECT hippodrome, turf, length, avg(total) AS median FROM runs WHERE nth IN ((runs + 1) / 2, (runs + 2) / 2) GROUP BY hippodrome, turf, length)
SELECT race_id, horse, start_time, hippodrome, turf, length, total, median, round(100 * (total / median - 1), 2) AS percent, runs
FROM runs JOIN medians USING (hippodrome, turf, length);
`
