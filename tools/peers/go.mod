module github.com/horseracing-go/horseracing/tools/peers

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/google/go-github/v92 v92.0.0
	github.com/horseracing-go/horseracing v0.0.0
	github.com/openai/openai-go/v3 v3.96.0
	github.com/stripe/stripe-go/v85 v85.0.0
	golang.org/x/time v0.16.0
)

require (
	github.com/aws/smithy-go v1.28.9 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/go-querystring v1.2.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
)

replace github.com/horseracing-go/horseracing => ../..
