import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import linklog.ApiClient;
import linklog.ApiException;
import linklog.api.*;
import linklog.model.*;

/** Calls of the client that openapi-generator writes for Java; prints what they return. */
class Calls {
  private static final ObjectMapper json = ApiClient.createDefaultObjectMapper();

  private static ApiClient clientOf(String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("LINKLOG_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    return client;
  }

  private interface Call {
    Object run() throws ApiException;
  }

  private static Map<String, Object> refusal(Call call) throws Exception {
    try {
      throw new IllegalStateException("not refused: " + call.run());
    } catch (ApiException exception) {
      linklog.model.Error error = json.readValue(exception.getResponseBody(), linklog.model.Error.class);
      Map<String, Object> shown = new LinkedHashMap<>();
      shown.put("statusCode", error.getStatusCode());
      shown.put("message", error.getMessage());
      if (error.getScope() != null) shown.put("scope", error.getScope().getValue());
      if (error.getLimit() != null) shown.put("limit", error.getLimit());
      return shown;
    }
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = clientOf(System.getenv("LINKLOG_KEY"));
    LinksApi links = new LinksApi(client);
    List<String> tags = List.of("java-client");

    ShortenRequest request =
        new ShortenRequest()
            .url("https://example.com/")
            .alias("java-client")
            .password("open sesame")
            .expiresAt(OffsetDateTime.now().plusDays(1))
            .maxClicks(100)
            .title("Spring sale")
            .note("For May")
            .tags(tags)
            .rules(
                List.of(
                    new RedirectRule()
                        .name("ios")
                        .when(new RuleConditions().os(List.of(OsFamily.I_OS)))
                        .url("https://example.com/ios"),
                    new RedirectRule()
                        .name("others")
                        .when(new RuleConditions())
                        .split(
                            List.of(
                                new RuleSplit().name("a").url("https://example.com/a").weight(1),
                                new RuleSplit().name("b").url("https://example.com/b").weight(3)))))
            .forwardQuery(true);
    Link link = links.shorten(request, "java-client");
    Link replayed = links.shorten(request, "java-client");
    String code = link.getShortCode();
    ShortenRequest taken = new ShortenRequest().url("https://example.com/2").alias(code);
    ShortenRequest second = new ShortenRequest().url("https://example.com/1").tags(tags);
    BatchResponse batch = links.shortenBatch(new BatchRequest().urls(List.of(second, taken)), null);
    LinkDetails found = links.getLink(code, null);
    ChangeLinkRequest change = new ChangeLinkRequest().title(null).forwardQuery(false);
    LinkDetails changed = links.changeLink(code, change, "\"" + found.getVersion() + "\"", null);
    LinkPage page;
    do { // Lists are up to date within a second.
      page = links.listLinks(1, null, null, null, tags, null, null, null, null, null, null, null, null);
    } while (page.getNext() == null);
    LinkPage lastPage =
        links.listLinks(1, page.getNext(), null, null, tags, null, null, null, null, null, null, null, null);
    Stats stats = new ReportsApi(client).getStats(
        code, List.of("countries"), null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
    EventPage events = new EventsApi(client).getEvents("LinkCreated", null, 1, null, null, null);
    byte[] qrCode = Files.readAllBytes(
        links.getQrCode(code, null, null, null, null, null, null, null, null, null).toPath());
    List<String> export = Files.readAllLines(
        links.exportLinks(null, tags, null, null, null, null, null, null, null).toPath());
    MadeApiKey key = new KeysApi(client).makeKey(
        new MakeKeyRequest().name("Reader").scopes(List.of(Scope.LINKS_READ)));
    LinksApi reader = new LinksApi(clientOf(key.getKey()));
    LinksApi full = new LinksApi(clientOf(System.getenv("LINKLOG_FULL_KEY")));
    DomainsApi domains = new DomainsApi(client);
    String domain = "java-client.example.com";
    domains.claimDomain(new ClaimDomainRequest().domain(domain));
    List<Object> refusals = List.of(
        refusal(() -> links.getLink("nothing", null)),
        refusal(() -> domains.verifyDomain(domain)),
        refusal(() -> links.changeLink(code, change, "\"1\"", null)),
        refusal(() -> links.shorten(taken, "java-client")),
        refusal(() -> full.shorten(second, null)),
        refusal(() -> reader.shorten(request, null)));
    links.deleteLink(code, null, null);

    Map<String, Object> printed = new LinkedHashMap<>();
    printed.put("alias", link.getAlias());
    printed.put("rules", link.getRules().stream().map(RedirectRule::getName).toList());
    printed.put("forwardQuery",
        List.of(link.getForwardQuery(), found.getForwardQuery(), changed.getForwardQuery()));
    printed.put("isReplayed", replayed.equals(link));
    List<Object> outcomes = new ArrayList<>();
    for (BatchResult result : batch.getResults()) {
      outcomes.add(Arrays.asList(result.getSuccess(), result.getMessage()));
    }
    printed.put("batch", outcomes);
    printed.put("changed", Arrays.asList(changed.getTitle(), changed.getVersion()));
    printed.put("pages", List.of(page.getLinks().size(), lastPage.getLinks().size()));
    printed.put("clicks", stats.getClickCount());
    printed.put("days", Duration.between(stats.getPeriod().getFrom(), stats.getPeriod().getTo()).toDays());
    printed.put("events", events.getEvents().stream().map(CloudEvent::getType).toList());
    printed.put("qrCode", Base64.getEncoder().encodeToString(qrCode));
    printed.put("exported", export.size());
    printed.put("scopes", key.getScopes().stream().map(Scope::getValue).toList());
    printed.put("refusals", refusals);
    printed.put("status", links.getLink(code, null).getStatus().getValue());
    System.out.println(json.writeValueAsString(printed));
  }
}
