"""Calls of the client that openapi-generator writes for Python; prints what they return."""

import json
import os
from base64 import b64encode
from datetime import datetime, timedelta, timezone

from linklog import ApiClient, ApiException, Configuration
from linklog import BatchRequest, ChangeLinkRequest, MakeKeyRequest, RedirectRule, ShortenRequest
from linklog import ClaimDomainRequest, DomainsApi, EventsApi, KeysApi, LinksApi, ReportsApi
from linklog import OsFamily, RuleConditions, RuleSplit, Scope

url = os.environ["LINKLOG_URL"]


def client_of(key):
    return ApiClient(Configuration(host=url, access_token=key))


client = client_of(os.environ["LINKLOG_KEY"])
links = LinksApi(client)

request = ShortenRequest(
    url="https://example.com/",
    alias="python-client",
    password="open sesame",
    expires_at=datetime.now(timezone.utc) + timedelta(days=1),
    max_clicks=100,
    title="Spring sale",
    note="For May",
    tags=["python-client"],
    rules=[
        RedirectRule(name="ios", when=RuleConditions(os=[OsFamily.IOS]), url="https://example.com/ios"),
        RedirectRule(
            name="others",
            when=RuleConditions(),
            split=[
                RuleSplit(name="a", url="https://example.com/a", weight=1),
                RuleSplit(name="b", url="https://example.com/b", weight=3),
            ],
        ),
    ],
    forward_query=True,
)
link = links.shorten(request, idempotency_key="python-client")
replayed = links.shorten(request, idempotency_key="python-client")
taken = ShortenRequest(url="https://example.com/2", alias=link.alias)
batch = links.shorten_batch(
    BatchRequest(urls=[ShortenRequest(url="https://example.com/1", tags=["python-client"]), taken])
)
found = links.get_link(link.short_code)
change = ChangeLinkRequest(title=None, forward_query=False)
changed = links.change_link(link.short_code, change, if_match=f'"{found.version}"')
while True:
    # Lists are up to date within a second.
    page = links.list_links(tag=["python-client"], limit=1)
    if page.next:
        break
last_page = links.list_links(tag=["python-client"], limit=1, after=page.next)
stats = ReportsApi(client).get_stats(link.short_code, include=["countries"])
events = EventsApi(client).get_events(types="LinkCreated", limit=1)
qr_code = links.get_qr_code(link.short_code)
export = links.export_links(tag=["python-client"])
key = KeysApi(client).make_key(MakeKeyRequest(name="Reader", scopes=[Scope.LINKS_COLON_READ]))
reader = LinksApi(client_of(key.key))
full = LinksApi(client_of(os.environ["LINKLOG_FULL_KEY"]))
domains = DomainsApi(client)
domain = "python-client.example.com"
domains.claim_domain(ClaimDomainRequest(domain=domain))


def refusal(call):
    try:
        call()
    except ApiException as error:
        return error.data.model_dump(by_alias=True, exclude_none=True, include=shown)


shown = {"status_code", "message", "scope", "limit"}
refusals = [
    refusal(lambda: links.get_link("nothing")),
    refusal(lambda: domains.verify_domain(domain)),
    refusal(lambda: links.change_link(link.short_code, change, if_match='"1"')),
    refusal(lambda: links.shorten(taken, idempotency_key="python-client")),
    refusal(lambda: full.shorten(ShortenRequest(url="https://example.com/1"))),
    refusal(lambda: reader.shorten(request)),
]
links.delete_link(link.short_code)

print(
    json.dumps(
        {
            "alias": link.alias,
            "rules": [rule.name for rule in link.rules],
            "forwardQuery": [link.forward_query, found.forward_query, changed.forward_query],
            "isReplayed": replayed == link,
            "batch": [[result.success, result.message] for result in batch.results],
            "changed": [changed.title, changed.version],
            "pages": [len(page.links), len(last_page.links)],
            "clicks": stats.click_count,
            "days": (stats.period.to - stats.period.var_from).days,
            "events": [event.type for event in events.events],
            "qrCode": b64encode(qr_code).decode(),
            "exported": len(export.splitlines()),
            "scopes": [scope.value for scope in key.scopes],
            "refusals": refusals,
            "status": links.get_link(link.short_code).status.value,
        }
    )
)
