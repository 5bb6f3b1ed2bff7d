import { createIsbotFromList, list } from 'isbot';

/** Only this many characters of a user agent are matched, which bounds the time of the patterns. */
export const maxAgentLength = 512;

const anyOf = (patterns: readonly string[]): RegExp => new RegExp(patterns.join('|'), 'i');

/** Browsers, engines and devices of people. Their user agents contain free text. */
const browser = anyOf([
  '\\b(?:applewebkit|cfnetwork|chrom(?:e|ium)/|crios|dalvik|dolfin|fban/|firefox|fxios|gecko/|ice ?browser)',
  '\\b(?:konqueror|lynx|(?:ncsa_)?mosaic|msie|netfront|obigo|opera|opr/|presto|safari|trident|ucbrowser|ucweb|up\\.browser|wap\\b)',
  '\\b(?:android|bada|blackberry|brew/|cldc|hbbtv|i(?:pad|phone|pod)|midp|series ?\\d0|smart-?tv|symbian|windows phone)',
  '\\b(?:alcatel|huawei|lg[-/]|mot-|nokia|samsung|sec-|sharp-|sie-|sonyericsson|zte)',
]);

/** Device models, such as "Spider 8" and "Capture+". They say nothing about the program. */
const model =
  /\bandroid[^;()]{0,20};(?: [a-z]{2}[-_][a-z]{2};)?[^;()]{0,80}|\bandroid \([^()]{0,200}|\bfbdv\/[^;\]]{0,80}/gi;

/**
 * Patterns of isbot that browsers match too: words of models, apps, add-ons and toolbars, and the shapes of
 * user agents. A test compares them with the list of the installed version.
 */
export const tooBroadForBrowsers: readonly string[] = [
  ...['(?:^|[^g])news(?!sapphire)', '(?<! channel/|google/)google(?!(?:wv|app|/google| pixel))'],
  ...['(?<! cu)bots?(?:\\b|_)', '(?<!cam)scan', '(?<!lib)http', ';\\s\\w+;$', '@[a-z][\\w-]+\\.'],
  ...['\\(\\)', '\\.com\\b', '\\b\\w+/1\\.0;', '\\bperl\\b', '\\btime/', '\\|', '^[<\\(;]'],
  '^[\\w \\.\\-\\(?:\\):%]+(?:/v?\\d+(?:\\.\\d+)?(?:\\.\\d{1,10})*?)?(?:,|$)',
  ...['^[\\w\\-]+/[\\w]+$', '^[^ ]{50,}$', '^\\d+\\b', '^\\w*search\\b', '^\\w+/[\\w\\(\\)]*$'],
  ...['^\\w+/\\d\\.\\d\\s\\([\\w@]+\\)$', '^mozilla/\\d\\.\\d\\s[\\w\\.-]+$'],
  '^mozilla/\\d\\.\\d\\s\\((?:compatible;)?(?:\\s?[\\w\\d-.]+[\\s/]\\d+\\.\\d+)?\\)$',
  ...['^custom', '^ddg[_-]android', '^downcast/', '^duckduckgo', '^facebook', '^navermailapp'],
  ...['^netsurf', '^offline', '^read', '^rss', '^snapchat', 'advisor', 'agent\\b', 'analyzer'],
  ...['archive', 'audit', 'browsex', 'capture', 'catch', 'check\\b', 'checker', 'chromeframe'],
  ...['classifier', 'cursor/', 'cypress/', 'detect', 'discovery', 'download', 'feed', 'firephp'],
  ...['grab', 'headless', 'ibisbrowser', 'insight', 'java(?!;)', 'library', 'measure'],
  ...['monitor\\b', 'node\\b', 'offbyone', 'optimize', 'parser', 'phantomjs', 'playwright'],
  ...['preview', 'proxy', 'radar', 'selenium', 'server', 'sogou', 'supercleaner', 'tools'],
  ...['torrent', 'url', 'validator', 'virtuoso'],
];

/** Self-identification as a crawler, a link previewer or a monitor that no browser has. */
const crawlersLikeBrowsers = [
  ...['(?<!cu)bots?(?:\\b|_)', '(?<!cam)scan(?:ner|ning)?\\b', 'checker/', 'externalhit', 'uptime'],
  // Internet Explorer lists the addresses of add-ons.
  '^(?!.*\\bmsie ).*(?:(?<!<)https?://|@[a-z][\\w-]+\\.)',
  '(?:bing|link|microsoft|page|uri|url|web)[ -]?preview',
  ...['-google(?:[);/]|$)', 'google[ -](?:ads|favicon|inspection)', 'google-?agent', 'googleimage'],
  ...['adbeat', 'appinsights', 'brandverity', 'criticalcss', 'dotcom-monitor', 'europarchive'],
  ...[
    'feeder\\.co',
    'gtmetrix',
    'impact\\.com',
    'integrity monitor',
    'ips-agent',
    'miniature\\.io',
  ],
  ...['netcraft', 'news(?:ai|now)/', 'optimizer-agent', 'pageanalyzer', 'pagespeed', 'pwabuilder'],
  ...['printfriendly', 'scope3', 'siteimprove', 'sitemonitor', 'sqwatcher', 'thousandeyes'],
  '\\bylt\\b',
];

const crawlerLikeBrowser = anyOf([
  ...list.filter((pattern) => !tooBroadForBrowsers.includes(pattern)),
  ...crawlersLikeBrowsers,
]);

/** HTTP libraries, command-line programs and load tools, by the first word. They are not bots. */
const program = anyOf([
  `^(?:${[
    ...['aiohttp', 'akka-http', 'apache-http(?:async)?client', 'apache-jmeter', 'apachebench'],
    ...['apt-http', 'aria2', 'artillery', 'autocannon', 'axel', 'axios', 'bombardier', 'boto3?'],
    ...['bruno(?:-runtime)?', 'bun', 'cpp-httplib', 'cpprestsdk', '(?:lib|py|r-)?curl', 'cypress'],
    ...[
      'dart',
      'deno',
      'docker',
      'electron-fetch',
      'excon',
      'faraday',
      'fasthttp',
      'fetch libfetch',
    ],
    ...[
      'flurl',
      'gatling',
      'git',
      'google-http-java-client',
      'go[ -]http-client',
      'go(?= \\d| package)',
      'go-resty',
      'got',
    ],
    ...['grafana k6', 'guzzle(?:http)?', 'hackney', 'hey', 'http-tiny', 'http\\.rb', 'httparty'],
    ...['httpclient', 'httpie', 'httpx', 'hurl', 'hyper', 'insomnia', 'intellij http client'],
    ...[
      'isahc',
      'jakarta commons-httpclient',
      'java',
      'jersey',
      'k6',
      'ktor(?:-client)?',
      'lftp',
      'libfetch',
    ],
    ...['libsoup', 'libwww-perl', 'locust', 'lua-resty-http', 'lwp', 'mechanize', 'needle'],
    ...['node(?:\\.js)?', 'node-fetch', 'node-superagent', 'oha', 'okhttp', 'perl', 'phantomjs'],
    ...['php', 'playwright', 'postman(?:runtime)?', 'pekko-http', 'puppeteer', 'python', 'rclone'],
    ...['reactornetty', 'req', 'requests', 'reqwest', 'rest-client', 'restsharp', 'resty', 'ruby'],
    ...['scalaj-http', 'selenium', 'siege', 'sttp', 'superagent', 'symfony httpclient'],
    ...['thunder client', 'typhoeus', 'undici', 'unirest-java', 'ureq', 'urlgrabber', 'vegeta'],
    ...['vert\\.x-webclient', 'vscode-restclient', 'wget2?', 'winhttp', 'wrk', 'www-mechanize'],
    ...['xh', 'zend_http_client'],
  ].join('|')})(?![a-z])`,
  '\\b(?:aws-sdk-|libcurl/|okhttp/|python-requests/|siege/|windowspowershell/)',
  // No name at all, such as "-".
  '^\\W*$',
]);

/** Self-identification in the user agent of an HTTP library. */
const crawlerLikeProgram = /bots?\b|crawl|mastodon|preview|scrap|spider/i;

const full = createIsbotFromList([...list]);

/** Whether a user agent identifies itself as a crawler, a link previewer or a monitor. */
export const isBot = (userAgent: string): boolean => {
  const text = userAgent.slice(0, maxAgentLength).replace(model, 'Android');
  if (browser.test(text)) return crawlerLikeBrowser.test(text);
  return full(text) && (!program.test(text) || crawlerLikeProgram.test(text));
};
