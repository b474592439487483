module github.com/horseracing-go/horseracing/examples/web

go 1.26.0

require (
	github.com/chromedp/chromedp v0.23.0
	github.com/horseracing-go/horseracing v0.0.0
)

require (
	github.com/chromedp/cdproto v0.159.2 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/horseracing-go/horseracing => ../..
