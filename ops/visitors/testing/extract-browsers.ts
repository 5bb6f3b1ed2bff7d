/**
 * Writes `browsers.txt.gz`: the user agents of browsers among the test cases of uap-core, whose npm package
 * has only the patterns. https://github.com/ua-parser/uap-core (Apache-2.0), commit
 * e3c5e634bee0b14f1a129c991483910739ad9f6c.
 *
 * Usage: node dist/ops/visitors/testing/extract-browsers.js <checkout of uap-core>
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { browsersFile } from './published-agents.js';

interface Parser {
  readonly regex: string;
  readonly regex_flag?: string;
  readonly family_replacement?: string;
  readonly device_replacement?: string;
}
interface Patterns {
  readonly user_agent_parsers: readonly Parser[];
  readonly os_parsers: readonly Parser[];
  readonly device_parsers: readonly Parser[];
}
interface TestCases {
  readonly test_cases: readonly { readonly user_agent_string: string }[];
}

/** Families of uap-core that are browsers. Its other families are apps, HTTP libraries and crawlers. */
const families = new Set([
  ...['AOL', 'Amazon Silk', 'Android', 'Avant', 'Baidu Browser', 'Baidu Explorer', 'Basilisk'],
  ...['BlackBerry', 'BlackBerry WebKit', 'Bon Echo', 'Brave', 'Camino', 'Chimera', 'Chrome'],
  ...['Chrome Mobile', 'Chrome Mobile WebView', 'Chrome Mobile iOS', 'Chromium', 'Coc Coc'],
  ...['Comodo Dragon', 'Conkeror', 'Crazy Browser', 'Dolfin', 'Dolphin', 'DuckDuckGo Mobile'],
  ...['ELinks', 'Edge', 'Edge Mobile', 'Epiphany', 'Facebook', 'Firefox', 'Firefox Beta'],
  ...['Firefox Mobile', 'Firefox iOS', 'Galeon', 'Google', 'HbbTV', 'IE', 'IE Large Screen'],
  ...['IE Mobile', 'Instagram', 'Iron', 'K-Meleon', 'Konqueror', 'LINE', 'Links', 'Lunascape'],
  ...['Lynx', 'Maxthon', 'Midori', 'MiuiBrowser', 'Mobile Safari', 'Mobile Safari UI/WKWebView'],
  ...['MyIE2', 'NCSA Mosaic', 'NetFront', 'Netscape', 'Nokia', 'Nokia Browser', 'Obigo'],
  ...['Nokia OSS Browser', 'Nokia Services (WAP) Browser', 'Oculus Browser', 'OmniWeb', 'Opera'],
  ...['Opera Coast', 'Opera Mini', 'Opera Mobile', 'Opera Neon', 'Opera Tablet', 'Otter'],
  ...['Ovi Browser', 'Pale Moon', 'Phoenix', 'Pinterest', 'Polaris', 'Puffin', 'QQ Browser'],
  ...['QQ Browser Mini', 'QQ Browser Mobile', 'QtCarBrowser', 'QupZilla', 'Rekonq', 'RockMelt'],
  ...['Safari', 'Sailfish Browser', 'Samsung Internet', 'SeaMonkey', 'Shiira', 'Skyfire'],
  ...['Sleipnir', 'Snapchat', 'Teleca Browser', 'Twitter', 'UC Browser', 'UP.Browser', 'Vivaldi'],
  ...['Waterfox', 'WebKit Nightly', 'Whale', 'Yandex Browser', 'iRider', 'qutebrowser'],
  ...['webOS Browser'],
]);

/** Crawlers and monitors that uap-core classifies as browsers. */
const crawlers = /Google-InspectionTool|RuxitSynthetic/;

const patterns = parse(
  readFileSync(new URL('../../../../node_modules/uap-core/regexes.yaml', import.meta.url), 'utf8'),
) as Patterns;
const compile = (parsers: readonly Parser[]) =>
  parsers.map((parser) => ({ ...parser, pattern: new RegExp(parser.regex, parser.regex_flag) }));
const browserPatterns = compile(patterns.user_agent_parsers);
const osPatterns = compile(patterns.os_parsers);
const spiderPatterns = compile(
  patterns.device_parsers.filter(({ device_replacement: device }) => device === 'Spider'),
);

const familyOf = (userAgent: string): string | undefined => {
  for (const { pattern, family_replacement: family } of browserPatterns) {
    const match = pattern.exec(userAgent);
    if (match) return family ?? match[1];
  }
  return undefined;
};

const isBrowser = (userAgent: string): boolean =>
  !crawlers.test(userAgent) &&
  !spiderPatterns.some(({ pattern }) => pattern.test(userAgent)) &&
  families.has(familyOf(userAgent) ?? '') &&
  osPatterns.some(({ pattern }) => pattern.test(userAgent));

const checkout = process.argv[2];
if (checkout === undefined) throw new Error('the path of a checkout of uap-core is missing');
const userAgents = ['tests', 'test_resources'].flatMap((folder) =>
  readdirSync(path.join(checkout, folder))
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => {
      const text = readFileSync(path.join(checkout, folder, name), 'utf8');
      const { test_cases: cases } = parse(text, {
        uniqueKeys: false,
        maxAliasCount: -1,
      }) as TestCases;
      return cases.map(({ user_agent_string: userAgent }) => userAgent);
    }),
);
const browsers = [...new Set(userAgents)].filter(isBrowser).sort();
writeFileSync(browsersFile, gzipSync(browsers.join('\n'), { level: 9 }));
process.stdout.write(`${browsers.length} of ${userAgents.length} user agents\n`);
