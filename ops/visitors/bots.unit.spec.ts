import { expect } from 'chai';
import { list } from 'isbot';
import { isBot, tooBroadForBrowsers } from './bots.js';

const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0';
const android = 'Mozilla/5.0 (Linux; Android 13; Pixel 7)';
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_1_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';

/** User agents that identify themselves as crawlers. `published-agents.int.spec.ts` has many more. */
const crawlers = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  `${android} AppleWebKit/537.36 Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)`,
  ...['A6-Indexer', 'BoardReader Blog Indexer(http://boardreader.com)', 'anthropic-ai'],
  `${android} ${chrome} Mobile Safari/537.36 Chrome-Lighthouse`,
  `Mozilla/5.0 (Linux; Android 8.0; Pixel 2 Build/OPD3.170816.012; Storebot-Google/1.0) ${chrome} Mobile Safari/537.36`,
];

/** Programs that fetch a link to show a preview. */
const previewers = [
  'Slack-ImgProxy (+https://api.slack.com/robots)',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.social/)',
  'Synapse (bot; +https://github.com/matrix-org/synapse)',
  'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com',
  'Snap URL Preview Service; bot; snapchat; https://developers.snap.com/robots',
  'facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984',
  'Hatena::Fetcher/0.01 (master) Furl/3.13',
];

/** Programs that people use. Their visits count. */
const programs = [
  ...['curl/8.5.0', 'Wget/1.21.4', 'HTTPie/3.2.2', 'python-requests/2.31.0'],
  ...['python-httpx/0.26.0', 'python-urllib3/2.0.7', 'Python-urllib/3.12'],
  ...['Python/3.11 aiohttp/3.9.1', 'axios/1.6.2', 'node', 'undici'],
  'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
  ...['got (https://github.com/sindresorhus/got)', 'Bun/1.0.14', 'Deno/1.38.0'],
  ...['Dart/3.2 (dart:io)', 'okhttp/4.12.0', 'Java/17.0.9', 'Java-http-client/21.0.1'],
  ...['Apache-HttpClient/4.5.14 (Java/17.0.9)', 'Go-http-client/2.0', 'reqwest/0.11.22'],
  ...['Ruby', 'Faraday v2.7.11', 'rest-client/2.1.0 (linux x86_64) ruby/3.2.2p53'],
  ...['RestSharp/110.2.0.0', 'GuzzleHttp/7', 'Symfony HttpClient/Curl', 'libwww-perl/6.72'],
  'MyApp/1.0 CFNetwork/1485 Darwin/23.1.0',
  'Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.22621.2506',
  ...['PostmanRuntime/7.36.1', 'insomnia/8.4.5', 'k6/0.49.0 (https://k6.io/)'],
  ...['Grafana k6/1.0.0', 'ApacheBench/2.3', 'Apache-JMeter/5.6', 'autocannon'],
  'Playwright/1.40.1 (x64; ubuntu 22.04) node/20.10',
  `Mozilla/5.0 (X11; Linux x86_64) ${chrome.replace('Chrome', 'HeadlessChrome')} Safari/537.36`,
  `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Cypress/13.6.1 Chrome/114.0.5735.289 Electron/25.8.4 Safari/537.36`,
  'Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1',
  ...['aria2/1.36.0', 'curl/8.5.0 (x86_64-pc-linux-gnu) libcurl/8.5.0', 'git/2.43.0'],
  ...['libcurl-agent/1.0', 'lua-resty-http/0.13 (Lua) ngx_lua/10013'],
  ...['Artillery (https://artillery.io)', 'Thunder Client (https://www.thunderclient.com)'],
  'Dalvik/2.1.0 (Linux; U; Android 9; CUBOT_P30 Build/PPR1.180610.011)',
];

/** Unusual browsers, and models of phones such as CUBOT. `agents.unit.spec.ts` has the usual browsers. */
const browsers = [
  `Mozilla/5.0 (Linux; Android 10; CUBOT X30) ${chrome} Mobile Safari/537.36`,
  'Opera/9.80 (Android; Opera Mini/36.2/191.249; U; en) Presto/2.12.423 Version/12.16',
  'Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)',
  ...['Lynx/2.9.0dev.12 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.8', 'w3m/0.5.3+git20230121'],
  `Mozilla/5.0 (Linux; Android 8.1.0; XBot Junior) ${chrome} Mobile Safari/537.36`,
  'Mozilla/5.0 (Linux; U; Android 4.2.2; it-it; S222 Build/CUBOT) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30',
  `Mozilla/5.0 (Linux; Android 8.1.0; Radar Deluxe 2) ${chrome} Mobile Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 13; Spider 8) ${chrome} Safari/537.36`,
  'Mozilla/5.0 (compatible; MSIE 9.0; Windows Phone OS 7.5; Trident/5.0; IEMobile/9.0; HTC; Radar 4G)',
  'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 6.1; Embedded Web Browser from: http://bsalsa.com/; SLCC2)',
];

/** Browsers within apps. */
const inApp = [
  `${iphone} Mobile/15E148 [FBAN/FBIOS;FBAV/442.0.0.42.107;FBBV/541376310;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS;FBSV/17.1.2;FBSS/3;FBID/phone;FBLC/en_US;FBOP/5]`,
  `${android} Version/4.0 ${chrome} Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/441.0.0.32.109;]`,
  `${iphone} Mobile/21B91 Instagram 309.1.1.28.108 (iPhone14,5; iOS 17_1_1; en_US; en; scale=3.00; 1170x2532; 537288535)`,
  `${iphone} Mobile/15E148 [FBAN/FBIOS;FBDV/XBot Junior;FBSV/17.1]`,
  `${android} ${chrome} Mobile Safari/537.36 Instagram 309.0.0.40.113 Android (33/13; 450dpi; 1080x2177; XBot; XBot Junior; x; y; en_GB; 536988427)`,
  `${android} Version/4.0 Chrome/78.0.3904.62 XWEB/2889 MMWEBSDK/20210902 Mobile Safari/537.36 MMWEBID/4096 MicroMessenger/8.0.15.2001(0x28000F41) Process/toolsmp WeChat/arm64 Weixin GPVersion/1 NetType/WIFI Language/zh_CN ABI/arm64`,
  'Mozilla/5.0 (iPhone; CPU iPhone OS 10_0 like Mac OS X) AppleWebKit/602.1.43 (KHTML, like Gecko) AppleNews/607 Version/2.0',
  `${android} Version/4.0 ${chrome} Mobile Safari/537.36 JsKit/1.0 (Android) SohuNews/5.7.3 BuildCode/113`,
  `${iphone} Mobile/15E148 [Pinterest/iOS]`,
  `${iphone} GSA/293.0.585386377 Mobile/15E148 Safari/604.1`,
  `${android} Version/4.0 ${chrome} Mobile Safari/537.36;KAKAOTALK 2410430`,
  `${iphone} Mobile/15E148 MicroMessenger/8.0.43(0x18002b2d) NetType/WIFI Language/en`,
  `${windows} AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.35.126 Chrome/118.0.5993.144 Electron/27.1.0 Safari/537.36`,
];

describe('visitors: bots', () => {
  for (const [group, agents, expected] of [
    ['crawlers', crawlers, true],
    ['previewers', previewers, true],
    ['not programs', programs, false],
    ['not browsers', browsers, false],
    ['not browsers within apps', inApp, false],
    ['not clients without a user agent', ['', '-'], false],
  ] as const) {
    for (const agent of agents) {
      it(`are ${group} such as ${agent.slice(-70)}`, () => {
        expect(isBot(agent)).to.equal(expected);
      });
    }
  }

  it('exclude only patterns of isbot for browsers', () => {
    expect(list).to.include.members(tooBroadForBrowsers);
  });
});
