package main

// What a model reads of each tool: what it returns, when to use it rather than another,
// what it costs or changes, and what its errors mean.
const (
	openRacesText = `Returns races open for registration, those that can be entered first, the one that closes first leading. ` +
		`With horse, only races that this horse may enter now; tier, level and max_fee narrow the list further. ` +
		`Use it to find a race to enter, get_race for one whose id is known, and list_results for finished ones. ` +
		`It reads only; left_out counts the entries beyond limit. An unknown tier is an error that lists the tiers.`
	raceText = `Returns one race by its id, open or finished, with its fee, prizes and horses; of a finished race also the order, lanes and times. ` +
		`Use it when the id is known, else list_open_races or list_results. It reads only. ` +
		`The error not_found means that there is no race with this id.`
	resultsText = `Returns finished races of a tier, newest first, with the horses in the order of finishing. ` +
		`Use it for past races and their winners; one race is read with get_race, open ones with list_open_races. ` +
		`It reads only, a page of ten at a time: ask for no more than needed, and pass the cursor to read on. ` +
		`The error invalid_argument names the argument and what it takes.`
	horseText = `Returns one horse by its number, whoever owns it: name, level, tier, breed and until when it may not breed. ` +
		`Use list_owned_horses for the person's own. It reads only, and returns the traits of the appearance only with traits. ` +
		`The error not_found means that there is no horse with this number.`
	ownedHorsesText = `Returns the horses that belong to the person, with level and tier. ` +
		`Use it to find out which horses can be registered; for any other horse use get_horse. ` +
		`It reads only. The error failed says if the person has not set the key of the owner.`
	missionsText = `Returns the daily, weekly and monthly missions of one horse with progress, reward and whether they are completed. ` +
		`Use it to choose races that also complete a mission. It reads only. ` +
		`The error not_found means that there is no horse with this number.`
	breedingText = `Returns horses that are offered for breeding, with price, wins and number of races. ` +
		`Use it to find a partner; when a horse of the person may breed again is in get_horse. ` +
		`It reads only, and nothing here breeds or pays. left_out counts the entries beyond limit.`
	tournamentsText = `Returns open tournaments, or with finished those that are over, newest first. ` +
		`Single races are in list_open_races and list_results. ` +
		`It reads only; horses cannot be entered into tournaments with these tools. Finished ones have a cursor to read on.`
	planText = `Returns what registering a horse in a race would cost, what is left of the limits, and a plan to pass to register. ` +
		`Always use it before register. If something stands against the registration, such as a closed race, a horse of another owner or a limit, ` +
		`there is no plan, and against says why. It pays and writes nothing. The error not_found means that there is no such race.`
	registerText = `Enters a horse into a race and pays its fee, for a plan of plan_registration that this run of the program returned. ` +
		`This is the only tool that pays: use it only if the person wants this horse in this race. The same plan pays at most once, however often it is passed. ` +
		`The state is entered (paid), refused (not paid, note says why) or unknown (perhaps paid: call settle, do not pay elsewhere). ` +
		`An error whose text says that nothing was sent paid nothing: plan_again asks for a new plan, in_use means to try again later, not_confirmed that the person did not say yes.`
	settleText = `Finds out what became of registrations whose outcome is unknown, and records it. ` +
		`Use it after register returned unknown, and then not before the time in until: until then a race may not show who is in it. ` +
		`It pays nothing. What stays unknown after all is perhaps paid, and only the person can decide it.`
	ledgerText = `Returns the registrations so far, newest first, with the sums that are paid and perhaps paid, and what may still be paid. ` +
		`Use it to see what was spent or whether a horse was registered here; settle updates what is unknown. ` +
		`It reads a file of the person alone, and asks the service nothing.`
)
