package guarantees_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/horseracing-go/horseracing"
	"github.com/horseracing-go/horseracing/horseracingtest"
	"golang.org/x/time/rate"
)

// The declarations below hold the names and types that programs compile
// against. A change that breaks one of them breaks those programs.

type (
	ctx = context.Context
)

// The client and its options.
var (
	_ func(baseURL, apiKey string, opts ...horseracing.Option) (*horseracing.Client, error)                       = horseracing.NewClient
	_ func(opts ...horseracing.Option) (*horseracing.Client, error)                                               = horseracing.NewClientFromEnv
	_ func(c *horseracing.Client, ctx ctx, method, path string, body, out any, o ...horseracing.CallOption) error = (*horseracing.Client).Do
	_ func(*horseracing.Client) horseracing.Pace                                                                  = (*horseracing.Client).Pace
	_ func(*horseracing.Client)                                                                                   = (*horseracing.Client).Close

	_ = horseracing.Client{
		Horses:      (*horseracing.HorsesService)(nil),
		Races:       (*horseracing.RacesService)(nil),
		Tournaments: (*horseracing.TournamentsService)(nil),
		Missions:    (*horseracing.MissionsService)(nil),
	}

	_ func(*http.Client) horseracing.Option                              = horseracing.WithHTTPClient
	_ func(horseracing.Retry) horseracing.Option                         = horseracing.WithRetry
	_ func(time.Duration) horseracing.Option                             = horseracing.WithAttemptTimeout
	_ func(perSecond float64, burst int) horseracing.Option              = horseracing.WithRateLimit
	_ func(horseracing.Limiter) horseracing.Option                       = horseracing.WithLimiter
	_ func(*slog.Logger) horseracing.Option                              = horseracing.WithLogger
	_ func(string) horseracing.Option                                    = horseracing.WithUserAgent
	_ func(int64) horseracing.Option                                     = horseracing.WithMaxResponseBytes
	_ func() horseracing.Option                                          = horseracing.WithPlainHTTP
	_ func(func(ctx, horseracing.Drift)) horseracing.Option              = horseracing.WithDriftHandler
	_ func(func(http.RoundTripper) http.RoundTripper) horseracing.Option = horseracing.WithTransportWrapper
	_ func(*horseracing.Response) horseracing.CallOption                 = horseracing.CaptureResponse
	_ horseracing.Limiter                                                = interface{ Wait(context.Context) error }(nil)
	_ horseracing.Limiter                                                = (*rate.Limiter)(nil)
	_ string                                                             = horseracing.Version
	_                                                                    = horseracing.Retry{Max: int(0), MinWait: time.Duration(0), MaxWait: time.Duration(0)}
	_                                                                    = horseracing.Pace{PerSecond: float64(0), Waiting: int(0), Until: time.Time{}}
	_                                                                    = horseracing.Response{StatusCode: int(0), Header: http.Header(nil), Body: []byte(nil), Attempts: int(0)}
	_                                                                    = horseracing.Drift{Route: string(""), Path: string(""), Kind: horseracing.DriftKind("")}
	_                                                                    = map[horseracing.DriftKind]bool{horseracing.DriftUnknownField: true, horseracing.DriftMissingField: true}
)

// The operations.
var (
	_ func(*horseracing.HorsesService, ctx, horseracing.HorseNumber, ...horseracing.CallOption) (*horseracing.Horse, error)                               = (*horseracing.HorsesService).Get
	_ func(*horseracing.HorsesService, ctx, []horseracing.HorseNumber, ...horseracing.CallOption) (map[horseracing.HorseNumber]*horseracing.Horse, error) = (*horseracing.HorsesService).GetMany
	_ func(*horseracing.HorsesService, ctx, horseracing.UserKey, ...horseracing.CallOption) ([]horseracing.Horse, error)                                  = (*horseracing.HorsesService).Owned
	_ func(*horseracing.HorsesService, ctx, horseracing.HorseNumber, ...horseracing.CallOption) (*horseracing.HorseMissions, error)                       = (*horseracing.HorsesService).Missions
	_ func(*horseracing.HorsesService, ctx, ...horseracing.CallOption) ([]horseracing.BreedingListing, error)                                             = (*horseracing.HorsesService).OpenForBreeding
	_ func(*horseracing.RacesService, ctx, ...horseracing.CallOption) ([]horseracing.Race, error)                                                         = (*horseracing.RacesService).Open
	_ func(*horseracing.RacesService, ctx, horseracing.RaceID, ...horseracing.CallOption) (*horseracing.Race, error)                                      = (*horseracing.RacesService).Get
	_ func(*horseracing.RacesService, horseracing.ResultsQuery) *horseracing.Pager[horseracing.Race]                                                      = (*horseracing.RacesService).Results
	_ func(*horseracing.RacesService, horseracing.OffsetQuery) *horseracing.Pager[horseracing.Race]                                                       = (*horseracing.RacesService).ResultsV1
	_ func(*horseracing.RacesService, ctx, horseracing.Registration, ...horseracing.CallOption) (*horseracing.RegistrationReceipt, error)                 = (*horseracing.RacesService).Register
	_ func(*horseracing.RacesService, ctx, horseracing.RaceID, horseracing.HorseNumber, ...horseracing.CallOption) (bool, error)                          = (*horseracing.RacesService).Settle
	_ func(*horseracing.RacesService, horseracing.FollowQuery) *horseracing.Follower                                                                      = (*horseracing.RacesService).Follow
	_ func(*horseracing.RacesService, horseracing.WatchQuery) *horseracing.Watcher                                                                        = (*horseracing.RacesService).Watcher
	_ func(*horseracing.RacesService, ctx, horseracing.WatchQuery) iter.Seq2[horseracing.RaceChange, error]                                               = (*horseracing.RacesService).WatchOpen
	_ func(*horseracing.TournamentsService, horseracing.ResultsQuery) *horseracing.Pager[horseracing.Tournament]                                          = (*horseracing.TournamentsService).Results
	_ func(*horseracing.TournamentsService, ctx, ...horseracing.CallOption) ([]horseracing.Tournament, error)                                             = (*horseracing.TournamentsService).Open
	_ func(*horseracing.TournamentsService, ctx, horseracing.TournamentID, ...horseracing.CallOption) (*horseracing.Tournament, error)                    = (*horseracing.TournamentsService).Get
	_ func(*horseracing.MissionsService, ctx, ...horseracing.CallOption) (*horseracing.MissionCatalogue, error)                                           = (*horseracing.MissionsService).Catalogue
	_                                                                                                                                                     = horseracing.Registration{Horse: horseracing.HorseNumber(0), Race: horseracing.RaceID(0), UserKey: horseracing.UserKey("")}
	_                                                                                                                                                     = horseracing.RegistrationReceipt{StatusCode: int(0), Body: json.RawMessage(nil)}
)

// The listings, following and watching.
var (
	_ = horseracing.ResultsQuery{
		Tier: horseracing.TierID(0), Tiers: []horseracing.TierID(nil), Before: time.Time{}, Since: time.Time{},
		Resume: horseracing.Cursor{}, Concurrency: int(0), Patience: time.Duration(0),
	}
	_ = horseracing.OffsetQuery{
		Tier: horseracing.TierID(0), Offset: int(0), Resume: horseracing.Cursor{}, Patience: time.Duration(0),
	}
	_ func(*horseracing.Pager[horseracing.Race], ctx) iter.Seq2[*horseracing.Race, error]                   = (*horseracing.Pager[horseracing.Race]).All
	_ func(*horseracing.Pager[horseracing.Race], ctx) iter.Seq2[horseracing.Entry[horseracing.Race], error] = (*horseracing.Pager[horseracing.Race]).Entries
	_ func(*horseracing.Pager[horseracing.Race], ctx) iter.Seq2[[]horseracing.Race, error]                  = (*horseracing.Pager[horseracing.Race]).Pages
	_ func(*horseracing.Pager[horseracing.Race], ctx, int) ([]horseracing.Race, error)                      = (*horseracing.Pager[horseracing.Race]).Take
	_ func(*horseracing.Pager[horseracing.Race]) horseracing.Cursor                                         = (*horseracing.Pager[horseracing.Race]).Cursor
	_ func(string) (horseracing.Cursor, error)                                                              = horseracing.ParseCursor
	_ func(horseracing.Cursor) bool                                                                         = horseracing.Cursor.IsZero
	_ fmt.Stringer                                                                                          = horseracing.Cursor{}
	_ encoding.TextMarshaler                                                                                = horseracing.Cursor{}
	_ encoding.TextUnmarshaler                                                                              = (*horseracing.Cursor)(nil)
	_                                                                                                       = horseracing.Entry[horseracing.Race]{Value: (*horseracing.Race)(nil), Tier: horseracing.TierID(0), JSON: json.RawMessage(nil)}

	_ = horseracing.FollowQuery{
		Tier: horseracing.TierID(0), Tiers: []horseracing.TierID(nil), Since: time.Time{},
		Resume: horseracing.Cursor{}, Interval: time.Duration(0), Lookback: time.Duration(0), Concurrency: 0,
	}
	_ func(*horseracing.Follower, ctx) iter.Seq2[*horseracing.Race, error] = (*horseracing.Follower).All
	_ func(*horseracing.Follower) horseracing.Cursor                       = (*horseracing.Follower).Cursor

	_                                                                 = horseracing.WatchQuery{Interval: time.Duration(0)}
	_                                                                 = horseracing.RaceChange{Kind: horseracing.RaceChangeKind(""), Race: (*horseracing.Race)(nil), Previous: (*horseracing.Race)(nil)}
	_                                                                 = []horseracing.RaceChangeKind{horseracing.RaceOpened, horseracing.RaceUpdated, horseracing.RaceClosed}
	_ func(*horseracing.Watcher, ctx) error                           = (*horseracing.Watcher).Run
	_ func(*horseracing.Watcher) horseracing.Snapshot                 = (*horseracing.Watcher).Snapshot
	_ func(*horseracing.Watcher, ctx) iter.Seq[horseracing.Snapshot]  = (*horseracing.Watcher).Snapshots
	_ func(before, after []horseracing.Race) []horseracing.RaceChange = horseracing.Changes
	_                                                                 = horseracing.Snapshot{Races: []horseracing.Race(nil), At: time.Time{}, Err: error(nil)}
)

// The values.
var (
	_ func(int64) horseracing.BigInt                                                                        = horseracing.NewBigInt
	_ func(*big.Int) horseracing.BigInt                                                                     = horseracing.BigIntFrom
	_ func(text string, places int) (horseracing.BigInt, error)                                             = horseracing.ParseDecimal
	_ func(horseracing.BigInt) *big.Int                                                                     = horseracing.BigInt.Big
	_ func(horseracing.BigInt) string                                                                       = horseracing.BigInt.String
	_ func(b horseracing.BigInt, places int) string                                                         = horseracing.BigInt.Decimal
	_ func(horseracing.BigInt, horseracing.BigInt) int                                                      = horseracing.BigInt.Cmp
	_ func(horseracing.BigInt) bool                                                                         = horseracing.BigInt.IsZero
	_ driver.Valuer                                                                                         = horseracing.BigInt{}
	_ sql.Scanner                                                                                           = (*horseracing.BigInt)(nil)
	_ json.Marshaler                                                                                        = horseracing.BigInt{}
	_ json.Unmarshaler                                                                                      = (*horseracing.BigInt)(nil)
	_ encoding.TextMarshaler                                                                                = horseracing.BigInt{}
	_ encoding.TextUnmarshaler                                                                              = (*horseracing.BigInt)(nil)
	_ func(horseracing.Number) string                                                                       = horseracing.Number.String
	_ func(horseracing.Number) float64                                                                      = horseracing.Number.Float64
	_ func(horseracing.Number) (int64, bool)                                                                = horseracing.Number.Int64
	_ func(horseracing.Number) (horseracing.BigInt, bool)                                                   = horseracing.Number.BigInt
	_ func(n horseracing.Number, places int) string                                                         = horseracing.Number.Decimal
	_ json.Marshaler                                                                                        = horseracing.Number{}
	_ json.Unmarshaler                                                                                      = (*horseracing.Number)(nil)
	_ time.Time                                                                                             = horseracing.Timestamp{}.Time
	_ encoding.TextMarshaler                                                                                = horseracing.UserKey("")
	_ encoding.TextUnmarshaler                                                                              = (*horseracing.UserKey)(nil)
	_ fmt.Formatter                                                                                         = horseracing.UserKey("")
	_ slog.LogValuer                                                                                        = horseracing.UserKey("")
	_ int64                                                                                                 = int64(horseracing.RaceID(0)) + int64(horseracing.HorseNumber(0))
	_ horseracing.TierID                                                                                    = horseracing.TierOmega
	_ func(*horseracing.Race) ([]horseracing.RaceParticipant, error)                                        = (*horseracing.Race).Finishers
	_ func(*horseracing.Race) (horseracing.RaceParticipant, bool)                                           = (*horseracing.Race).Winner
	_ func(*horseracing.Race, horseracing.HorseNumber) bool                                                 = (*horseracing.Race).Has
	_ func(*horseracing.Race) bool                                                                          = (*horseracing.Race).Finished
	_ func(*horseracing.Race, time.Time) bool                                                               = (*horseracing.Race).RegistrationOpenAt
	_ func(*horseracing.Race) int                                                                           = (*horseracing.Race).FreePlaces
	_ func(r *horseracing.Race, level int) bool                                                             = (*horseracing.Race).AcceptsLevel
	_ func(h *horseracing.Horse, name string) (string, bool)                                                = (*horseracing.Horse).Trait
	_ func(*horseracing.Horse, time.Time) bool                                                              = (*horseracing.Horse).CanBreedAt
	_ func(*horseracing.MissionCatalogue) iter.Seq2[horseracing.MissionPeriod, horseracing.MissionTemplate] = (*horseracing.MissionCatalogue).All

	_ = horseracing.Race{
		ID: string(""), MainRaceID: horseracing.RaceID(0), StartTime: horseracing.Timestamp{}, RegistrationDeadline: horseracing.Timestamp{},
		Type: horseracing.RaceType(""), Length: int(0), V2: false, NoEquipment: false, EntryFee: horseracing.BigInt{}, Prizes: []horseracing.Number(nil),
		Tier: horseracing.TierName(""), Info: horseracing.RaceInfo{Name: string(""), HippodromeType: string(""), HippodromeName: string(""), Turf: string("")},
		Places: int(0), MinLevel: int(0), MaxLevel: int(0), Status: horseracing.RaceStatus(""), FinalOrder: []int(nil), Winners: []int(nil),
		Participants: []horseracing.RaceParticipant{{Number: horseracing.HorseNumber(0), Total: float64(0), Lane: int(0)}},
	}
	_ = horseracing.Horse{
		Name: string(""), Image: string(""), ExternalURL: string(""), Number: horseracing.HorseNumber(0), Gender: horseracing.Gender(""),
		Height: float64(0), Weight: float64(0), Level: int(0), Appearance: []horseracing.Trait{{Type: string(""), Value: string("")}},
		BreedingCooldown: (*time.Time)(nil), Breed: string(""), Generation: int(0), Tier: horseracing.TierName(""),
	}
	_ = horseracing.BreedingListing{
		Name: string(""), Number: horseracing.HorseNumber(0), Gender: horseracing.Gender(""), WinsFirstCount: int(0), WinsSecondCount: int(0),
		WinsThirdCount: int(0), TotalRaceCount: int(0), Price: horseracing.Number{}, Generation: int(0), Tier: horseracing.TierName(""),
	}
	_ = horseracing.HorseMissions{Number: horseracing.HorseNumber(0), Missions: []horseracing.HorseMission{{
		Type: horseracing.MissionPeriod(""), Mission: horseracing.MissionKind(""), Name: string(""), Count: int(0), RewardXP: int(0), RewardSugar: int(0),
		Progress: []json.RawMessage(nil), Processed: false, Completed: false, Place: (*int)(nil), Hippodrome: (*int)(nil), Furlongs: (*int)(nil),
	}}}
	_ = horseracing.MissionCatalogue{Weekly: []horseracing.MissionTemplate(nil), Monthly: []horseracing.MissionTemplate(nil), Daily: []horseracing.MissionTemplate{{
		Type: horseracing.MissionKind(""), Min: int(0), Max: int(0), Description: string(""), XPBase: float64(0), XPModifier: float64(0), SugarBase: float64(0), SugarModifier: float64(0),
		FurlongMin: (*int)(nil), FurlongMax: (*int)(nil), HippodromeTypeMin: (*int)(nil), HippodromeTypeMax: (*int)(nil), PlaceMin: (*int)(nil), PlaceMax: (*int)(nil),
	}}}
	_ = horseracing.Tournament{
		ID: horseracing.TournamentID(""), Name: string(""), Description: string(""), HippodromeID: string(""), HippodromeName: string(""), Turf: int(0),
		RegistrationOpen: horseracing.Timestamp{}, RegistrationDeadline: horseracing.Timestamp{}, StartTime: horseracing.Timestamp{}, Length: int(0),
		Places: int(0), MinPlaces: int(0), EntryFee: horseracing.BigInt{}, Prizes: []horseracing.Number(nil), NoEquipment: false, MinLevel: int(0), MaxLevel: int(0),
		MaxParticipantsPerWallet: int(0), MinRaceCount: int(0), MaxRaceCount: (*int)(nil), Type: horseracing.RaceType(""), Status: int(0), Tier: horseracing.TierID(0),
		Stages: []horseracing.Stage{{
			RaceCount: int(0), StartTime: horseracing.Timestamp{}, MinutesBetweenRaces: float64(0), Name: string(""), Status: int(0), CurrentRound: int(0),
			Results: []horseracing.StageResult{{Number: horseracing.HorseNumber(0), Total: float64(0), MainRaceID: horseracing.RaceID(0)}},
		}},
		Participants: []horseracing.TournamentParticipant{{Number: horseracing.HorseNumber(0), DroppedAtIndex: int(0), Total: float64(0)}},
		AdditionalPrizes: []horseracing.AdditionalPrize{{
			Token: horseracing.BigInt{}, TreasuryToken: horseracing.Number{}, Sugar: horseracing.Number{}, Items: []horseracing.PrizeItem{{ID: string(""), Type: string("")}},
		}},
	}
)

// The errors.
var (
	_ error = &horseracing.APIError{
		StatusCode: int(0), Method: string(""), Route: string(""), ID: string(""), Message: string(""),
		Header: http.Header(nil), Body: []byte(nil), RetryAfter: time.Duration(0), Attempts: int(0),
	}
	_ error = &horseracing.DecodeError{
		Method: string(""), Route: string(""), ID: string(""), Field: string(""), Offset: int64(0), Raw: json.RawMessage(nil), Err: error(nil),
	}
	_ error = &horseracing.TransportError{Method: string(""), Route: string(""), ID: string(""), Attempts: int(0), Err: error(nil)}
	_ error = &horseracing.TieOverflowError{StartTime: horseracing.Timestamp{}, Seen: int(0)}
	_       = []error{
		horseracing.ErrUnauthorized, horseracing.ErrForbidden, horseracing.ErrNotFound, horseracing.ErrRateLimited, horseracing.ErrServer,
		horseracing.ErrRedirect, horseracing.ErrInvalidArgument, horseracing.ErrResponseTooLarge, horseracing.ErrOutcomeUnknown, horseracing.ErrBodyIgnored,
	}
)

// The fake.
var (
	_ func(...horseracingtest.Option) *horseracingtest.Server                                               = horseracingtest.NewServer
	_ func(...horseracingtest.Option) (*horseracingtest.Server, error)                                      = horseracingtest.Start
	_ func(...horseracingtest.RequestLimit) horseracingtest.Option                                          = horseracingtest.WithRequestLimit
	_ func(int) horseracingtest.Option                                                                      = horseracingtest.WithUsers
	_ func(uint64) horseracingtest.Option                                                                   = horseracingtest.WithSeed
	_ func(int) horseracingtest.Option                                                                      = horseracingtest.WithHistory
	_ func(int) horseracingtest.Option                                                                      = horseracingtest.WithSchedule
	_ func(func() time.Time) horseracingtest.Option                                                         = horseracingtest.WithClock
	_ func() horseracingtest.Option                                                                         = horseracingtest.WithTLS
	_ func() horseracingtest.Option                                                                         = horseracingtest.WithInMemory
	_ func(fs.FS) horseracingtest.Option                                                                    = horseracingtest.WithRecording
	_ func(iter.Seq[horseracing.Race]) horseracingtest.Option                                               = horseracingtest.WithHistoryOf
	_ func(dir string) func(http.RoundTripper) http.RoundTripper                                            = horseracingtest.Record
	_ func(*horseracingtest.Server) int                                                                     = (*horseracingtest.Server).NumUsers
	_ func(*horseracingtest.Server, string, func(horseracingtest.Request) (horseracingtest.Response, bool)) = (*horseracingtest.Server).Handle
	_ func(s *horseracingtest.Server, user int, horses ...horseracing.Horse)                                = (*horseracingtest.Server).AddHorses
	_ func(*horseracingtest.Server, ...horseracing.Race)                                                    = (*horseracingtest.Server).AddRaces
	_ func(*horseracingtest.Server, ...horseracing.Tournament)                                              = (*horseracingtest.Server).AddTournaments
	_ func(*horseracingtest.Server, ...horseracing.RaceID)                                                  = (*horseracingtest.Server).RemoveRaces
	_ func(*horseracingtest.Server, ...horseracing.BreedingListing)                                         = (*horseracingtest.Server).SetBreeding
	_ func(*horseracingtest.Server, ...horseracing.HorseMissions)                                           = (*horseracingtest.Server).SetHorseMissions
	_ func(*horseracingtest.Server, horseracing.MissionCatalogue)                                           = (*horseracingtest.Server).SetCatalogue
	_ func(*horseracingtest.Server, testing.TB)                                                             = (*horseracingtest.Server).RequireFaults
	_ func(*horseracingtest.Server, ...horseracingtest.Fault)                                               = (*horseracingtest.Server).Inject
	_ func(*horseracingtest.Server)                                                                         = (*horseracingtest.Server).ClearFaults
	_ func(*horseracingtest.Server, time.Duration)                                                          = (*horseracingtest.Server).Advance
	_ func(*horseracingtest.Server, ...horseracing.Option) *horseracing.Client                              = (*horseracingtest.Server).Client
	_ func(*horseracingtest.Server) *http.Client                                                            = (*horseracingtest.Server).HTTPClient
	_ func(*horseracingtest.Server) []horseracingtest.Registration                                          = (*horseracingtest.Server).Registrations
	_ func(*horseracingtest.Server) []horseracingtest.Request                                               = (*horseracingtest.Server).Requests
	_ func(s *horseracingtest.Server, user int) horseracing.UserKey                                         = (*horseracingtest.Server).UserKey
	_ func(s *horseracingtest.Server, user int) []horseracing.HorseNumber                                   = (*horseracingtest.Server).Horses
	_ func(*horseracingtest.Server) time.Time                                                               = (*horseracingtest.Server).Now
	_ func(*horseracingtest.Server)                                                                         = (*horseracingtest.Server).Reset
	_ func(*horseracingtest.Server)                                                                         = (*horseracingtest.Server).Close
	_                                                                                                       = horseracingtest.Response{Status: int(0), Header: http.Header(nil), Body: string("")}

	_ = horseracingtest.RequestLimit{
		Path: string(""), PerSecond: float64(0), Burst: int(0), PerWindow: int(0), Window: time.Duration(0), Sliding: false, InFlight: int(0),
		RetryAfter: string(""), Headers: false, CountRefused: false,
	}
	_ = horseracingtest.Fault{
		Method: string(""), Path: string(""), Skip: int(0), Times: int(0), Probability: float64(0), Status: int(0), Header: http.Header(nil), Body: string(""),
		Delay: time.Duration(0), ResetBefore: false, ResetAfter: false, CutBody: int(0), Drip: time.Duration(0), IgnoreBody: false, TakesEffectAfter: time.Duration(0),
	}
)
