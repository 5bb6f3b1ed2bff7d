// Calls of the client that openapi-generator writes for Go; prints what they return.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"linklog"
)

var background = context.Background()

func clientOf(key string) *linklog.APIClient {
	configuration := linklog.NewConfiguration()
	configuration.Servers = linklog.ServerConfigurations{{URL: os.Getenv("LINKLOG_URL")}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+key)
	return linklog.NewAPIClient(configuration)
}

// The body of a successful response.
func bodyOf[Body any](body Body, _ *http.Response, err error) Body {
	if err != nil {
		panic(err)
	}
	return body
}

func refusal[Body any](_ Body, _ *http.Response, err error) map[string]any {
	var refused *linklog.GenericOpenAPIError
	if !errors.As(err, &refused) {
		panic(err)
	}
	body := refused.Model().(linklog.Error)
	shown := map[string]any{"statusCode": body.StatusCode, "message": body.Message}
	if body.Scope != nil {
		shown["scope"] = *body.Scope
	}
	if body.Limit != nil {
		shown["limit"] = *body.Limit
	}
	return shown
}

func bytesOf(file *os.File) []byte {
	bytes, err := io.ReadAll(file)
	if err != nil {
		panic(err)
	}
	return bytes
}

func main() {
	client := clientOf(os.Getenv("LINKLOG_KEY"))
	links := client.LinksAPI
	tags := []string{"go-client"}

	ios := linklog.NewRedirectRule("ios", linklog.RuleConditions{Os: []linklog.OsFamily{linklog.OSFAMILY_I_OS}})
	ios.SetUrl("https://example.com/ios")
	others := linklog.NewRedirectRule("others", *linklog.NewRuleConditions())
	others.SetSplit([]linklog.RuleSplit{
		*linklog.NewRuleSplit("a", "https://example.com/a", 1),
		*linklog.NewRuleSplit("b", "https://example.com/b", 3),
	})
	request := linklog.NewShortenRequest("https://example.com/")
	request.SetAlias("go-client")
	request.SetPassword("open sesame")
	request.SetExpiresAt(time.Now().Add(24 * time.Hour))
	request.SetMaxClicks(100)
	request.SetTitle("Spring sale")
	request.SetNote("For May")
	request.SetTags(tags)
	request.SetRules([]linklog.RedirectRule{*ios, *others})
	request.SetForwardQuery(true)

	shorten := func(links *linklog.LinksAPIService, request *linklog.ShortenRequest) (*linklog.Link, *http.Response, error) {
		return links.Shorten(background).ShortenRequest(*request).IdempotencyKey("go-client").Execute()
	}
	link := bodyOf(shorten(links, request))
	replayed := bodyOf(shorten(links, request))
	taken := linklog.NewShortenRequest("https://example.com/2")
	taken.SetAlias(link.ShortCode)
	second := linklog.NewShortenRequest("https://example.com/1")
	second.SetTags(tags)
	batchRequest := linklog.NewBatchRequest([]linklog.ShortenRequest{*second, *taken})
	batch := bodyOf(links.ShortenBatch(background).BatchRequest(*batchRequest).Execute())
	found := bodyOf(links.GetLink(background, link.ShortCode).Execute())
	change := linklog.NewChangeLinkRequest()
	change.SetTitleNil()
	change.SetForwardQuery(false)
	changeLink := func(version int32) (*linklog.LinkDetails, *http.Response, error) {
		call := links.ChangeLink(background, link.ShortCode).ChangeLinkRequest(*change)
		return call.IfMatch(fmt.Sprintf("\"%d\"", version)).Execute()
	}
	changed := bodyOf(changeLink(found.Version))
	page := bodyOf(links.ListLinks(background).Tag(tags).Limit(1).Execute())
	for page.Next.Get() == nil { // Lists are up to date within a second.
		page = bodyOf(links.ListLinks(background).Tag(tags).Limit(1).Execute())
	}
	lastPage := bodyOf(links.ListLinks(background).Tag(tags).Limit(1).After(*page.Next.Get()).Execute())
	stats := bodyOf(client.ReportsAPI.GetStats(background, link.ShortCode).Include([]string{"countries"}).Execute())
	events := bodyOf(client.EventsAPI.GetEvents(background).Types("LinkCreated").Limit(1).Execute())
	qrCode := bytesOf(bodyOf(links.GetQrCode(background, link.ShortCode).Execute()))
	exported := bytesOf(bodyOf(links.ExportLinks(background).Tag(tags).Execute()))
	keyRequest := linklog.NewMakeKeyRequest("Reader")
	keyRequest.SetScopes([]linklog.Scope{linklog.SCOPE_LINKS_READ})
	key := bodyOf(client.KeysAPI.MakeKey(background).MakeKeyRequest(*keyRequest).Execute())
	domain := "go-client.example.com"
	claim := linklog.NewClaimDomainRequest(domain)
	bodyOf(client.DomainsAPI.ClaimDomain(background).ClaimDomainRequest(*claim).Execute())
	refusals := []any{
		refusal(links.GetLink(background, "nothing").Execute()),
		refusal(client.DomainsAPI.VerifyDomain(background, domain).Execute()),
		refusal(changeLink(1)),
		refusal(shorten(links, taken)),
		refusal(shorten(clientOf(os.Getenv("LINKLOG_FULL_KEY")).LinksAPI, second)),
		refusal(shorten(clientOf(key.Key).LinksAPI, request)),
	}
	if _, err := links.DeleteLink(background, link.ShortCode).Execute(); err != nil {
		panic(err)
	}

	var rules []string
	for _, rule := range link.Rules {
		rules = append(rules, rule.Name)
	}
	var outcomes, types []any
	for _, result := range batch.Results {
		outcomes = append(outcomes, []any{result.Success, result.Message})
	}
	for _, event := range events.Events {
		types = append(types, event.Type)
	}
	first, _ := json.Marshal(link)
	again, _ := json.Marshal(replayed)
	printed, err := json.Marshal(map[string]any{
		"alias":        link.Alias,
		"rules":        rules,
		"forwardQuery": []any{link.ForwardQuery, found.ForwardQuery, changed.ForwardQuery},
		"isReplayed":   string(first) == string(again),
		"batch":        outcomes,
		"changed":      []any{changed.Title.Get(), changed.Version},
		"pages":        []int{len(page.Links), len(lastPage.Links)},
		"clicks":       stats.ClickCount,
		"days":         int(stats.Period.To.Sub(stats.Period.From).Hours()) / 24,
		"events":       types,
		"qrCode":       qrCode,
		"exported":     len(strings.Split(strings.TrimSpace(string(exported)), "\n")),
		"scopes":       key.Scopes,
		"refusals":     refusals,
		"status":       bodyOf(links.GetLink(background, link.ShortCode).Execute()).Status,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(printed))
}
