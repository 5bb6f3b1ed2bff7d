/** Import files of seeded random links and visits, with the counts that the imported links must have. */
import { seededRandom, type Random } from './random.js';

export interface DumpedLink {
  readonly code: string;
  readonly url: string;
  readonly createdAt: string;
  /** All clicks at the source, visits included. */
  readonly clicks: number;
}

export interface DumpedVisit {
  readonly code: string;
}

/** A dump of YOURLS, and its rows. */
export interface YourlsDump {
  readonly text: string;
  readonly links: readonly DumpedLink[];
  readonly visits: readonly DumpedVisit[];
}

const dayMs = 86_400_000;
const firstMs = Date.parse('2024-01-01');
/** Visits are on so many days. */
const days = 200;

const countries = ['DE', 'US', 'IN', 'BR', 'JP', 'FR', 'NG', ''] as const;

const agents = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/112.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  'curl/7.88.1',
  '',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
] as const;

const pick = <Item>(items: readonly Item[], random: Random): Item => {
  const item = items[random.below(items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};

const mysqlTime = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** Rows that mysqldump writes in one statement. */
const rowsOfInsert = 500;

const insertInto = (table: string, rows: readonly string[]): string =>
  Array.from({ length: Math.ceil(rows.length / rowsOfInsert) }, (_, index) => {
    const some = rows.slice(index * rowsOfInsert, (index + 1) * rowsOfInsert);
    return `INSERT INTO \`${table}\` VALUES ${some.join()};\n`;
  }).join('');

/** One visit of so many is of a link that the dump does not have. */
const deletedEvery = 100;

/** A dump as mysqldump writes it: the log is before the links. */
export const yourlsDump = (options: {
  readonly links: number;
  readonly visits: number;
  readonly seed: number;
}): YourlsDump => {
  const random = seededRandom(options.seed);
  const codeOf = (index: number): string => `yourls-${index}`;
  const counts = new Map<string, number>();
  const visitRows: string[] = [];
  const visits = Array.from({ length: options.visits }, (_, index): DumpedVisit => {
    // Few links have most of the visits.
    const code = codeOf(Math.floor(options.links * random.between(0, 1) ** 3));
    const time = firstMs + Math.floor(random.between(0, days * dayMs));
    const [country, agent] = [pick(countries, random), pick(agents, random)];
    counts.set(code, (counts.get(code) ?? 0) + 1);
    const referrer = index % 3 === 0 ? 'https://news.example.com/item?id=1' : 'direct';
    const values = [mysqlTime(time), code, referrer, agent, '203.0.113.7', country];
    visitRows.push(`(${index + 1},${values.map((value) => `'${value}'`).join()})`);
    if (index % deletedEvery === 0) {
      visitRows.push(`(0,'${mysqlTime(time)}','deleted','direct','','203.0.113.7','DE')`);
    }
    return { code };
  });
  const links = Array.from({ length: options.links }, (_, index): DumpedLink => {
    const code = codeOf(index);
    const createdMs = firstMs - (options.links - index) * 1_000;
    return {
      ...{ code, url: `https://example.org/yourls/${index}?q=it%27s` },
      createdAt: new Date(createdMs).toISOString(),
      // Every second link has clicks from before YOURLS had a log.
      clicks: (counts.get(code) ?? 0) + (index % 2 === 0 ? 0 : random.below(1_000)),
    };
  });
  const linkRows = links.map(({ code, url, createdAt, clicks }) => {
    const time = mysqlTime(Date.parse(createdAt));
    return `('${code}','${url}','It\\'s ${code}','${time}','203.0.113.7',${clicks})`;
  });
  const text = [
    '-- MySQL dump 10.19  Distrib 10.3.39-MariaDB, for debian-linux-gnu (x86_64)\n',
    'CREATE TABLE `yourls_log` (\n  `click_id` int(11) NOT NULL AUTO_INCREMENT,\n',
    '  `click_time` datetime NOT NULL,\n  `shorturl` varchar(100) NOT NULL,\n',
    '  `referrer` varchar(200) NOT NULL,\n  `user_agent` varchar(255) NOT NULL,\n',
    '  `ip_address` varchar(41) NOT NULL,\n  `country_code` char(2) NOT NULL,\n',
    '  PRIMARY KEY (`click_id`)\n) ENGINE=InnoDB;\n',
    insertInto('yourls_log', visitRows),
    'CREATE TABLE `yourls_url` (\n  `keyword` varchar(100) NOT NULL,\n  `url` text NOT NULL,\n',
    '  `title` text,\n  `timestamp` timestamp NOT NULL,\n  `ip` varchar(41) NOT NULL,\n',
    '  `clicks` int(10) unsigned NOT NULL,\n  PRIMARY KEY (`keyword`)\n) ENGINE=InnoDB;\n',
    insertInto('yourls_url', linkRows),
  ].join('');
  return { text, links, visits };
};

/** A CSV file. */
export const csvFile = (count: number): Pick<YourlsDump, 'text' | 'links'> => {
  const links = Array.from({ length: count }, (_, index): DumpedLink => {
    const createdAt = new Date(firstMs + index * 1_000).toISOString();
    return {
      ...{ code: `csv-${index}`, url: `https://example.org/csv/${index}?a=1,2` },
      ...{ createdAt, clicks: (index * 7) % 1_000 },
    };
  });
  const rows = links.map(
    ({ code, url, createdAt, clicks }) => `${code},"${url}",${createdAt},${clicks}\n`,
  );
  return { text: `code,url,created_at,clicks\n${rows.join('')}`, links };
};
