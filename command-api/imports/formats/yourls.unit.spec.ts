import { expect } from 'chai';
import {
  cutText,
  expectFault,
  invalidRecord,
  linkRecord,
  readRecords,
} from '../../testing/import-files.js';
import type { SourceLink, SourceRecord, SourceVisit } from './records.js';
import { readYourls } from './yourls.js';

const read = (sql: string, options = {}, chunkLength = 7): Promise<readonly SourceRecord[]> =>
  readRecords(readYourls, cutText(sql, chunkLength), options);

/** A dump of mysqldump of MariaDB; `´` stands for a backtick. */
const dump = String.raw`-- MySQL dump 10.19  Distrib 10.3.39-MariaDB, for debian-linux-gnu (x86_64)
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS ´yourls_log´;
CREATE TABLE ´yourls_log´ (
  ´click_id´ int(11) NOT NULL AUTO_INCREMENT,
  ´click_time´ datetime NOT NULL,
  ´shorturl´ varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  ´referrer´ varchar(200) NOT NULL,
  ´user_agent´ varchar(255) NOT NULL,
  ´ip_address´ varchar(41) NOT NULL,
  ´country_code´ char(2) NOT NULL,
  PRIMARY KEY (´click_id´)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4;
LOCK TABLES ´yourls_log´ WRITE;
INSERT INTO ´yourls_log´ VALUES (1,'2023-05-02 09:14:55','1','direct','Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/112.0','203.0.113.7','DE'),(2,'2023-05-02 09:14:55','1','https://news.example/?q=a','curl/7.88.1','2001:db8::17',''),(3,'2023-05-03 00:00:00','gone','direct','x','198.51.100.9','US');
UNLOCK TABLES;
CREATE TABLE ´yourls_url´ (
  ´keyword´ varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  ´url´ text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  ´title´ text DEFAULT NULL,
  ´timestamp´ timestamp NOT NULL DEFAULT current_timestamp(),
  ´ip´ varchar(41) NOT NULL,
  ´clicks´ int(10) unsigned NOT NULL,
  PRIMARY KEY (´keyword´)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO ´yourls_url´ VALUES ('1','https://example.org/','It\'s \"one\"; -- not a comment','2023-05-01 08:00:00','203.0.113.7',17),('ozh','http://ozh.example/a,b);(','Zeile\nzwei','2023-05-01 08:00:00','203.0.113.7',0),('caf\\e','ftp://files.example/x',NULL,'2023-05-01 08:00:00','203.0.113.7',3),('CAF\\e','https://example.org/upper','','2023-05-01 08:00:03','203.0.113.7',1);
`.replaceAll('´', '`');

const urlColumns = '(`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`)';
const logColumns =
  '(`click_time`, `shorturl`, `referrer`, `user_agent`, `ip_address`, `country_code`)';
const insertUrl = (values: string): string =>
  `INSERT INTO \`url\` ${urlColumns} VALUES (${values});`;
const insertLog = (values: string): string =>
  `INSERT INTO \`log\` ${logColumns} VALUES (${values});`;

const link = (row: number, changes: Partial<SourceLink>): SourceRecord =>
  linkRecord(row, {
    ...{ code: 'a', url: 'https://a.example/', createdAt: '2023-05-01T08:00:00.000Z' },
    ...changes,
  });

const visit = (row: number, changes: Partial<SourceVisit>): SourceRecord => ({
  type: 'visit',
  row,
  visit: {
    ...{ code: 'a', domain: null, time: '2023-05-02T09:14:55.000Z' },
    ...{ country: null, referrer: null, userAgent: null },
    ...changes,
  },
});

describe('imports: SQL dumps of YOURLS', () => {
  it('have a link for each URL, and a visit for each click', async () => {
    const rows = { log: 15, url: 26 };
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/112.0';
    const news = 'https://news.example/?q=a';
    const time = '2023-05-03T00:00:00.000Z';
    // Neither links nor visits have addresses.
    expect(await read(dump)).to.deep.equal([
      visit(rows.log, { code: '1', country: 'DE', userAgent: firefox }),
      visit(rows.log, { code: '1', referrer: news, userAgent: 'curl/7.88.1' }),
      visit(rows.log, { code: 'gone', time, country: 'US', userAgent: 'x' }),
      link(rows.url, {
        ...{ code: '1', url: 'https://example.org/', title: 'It\'s "one"; -- not a comment' },
        clicks: 17,
      }),
      link(rows.url, { code: 'ozh', url: 'http://ozh.example/a,b);(', title: 'Zeile\nzwei' }),
      link(rows.url, { code: 'caf\\e', url: 'ftp://files.example/x', clicks: 3 }),
      link(rows.url, {
        ...{ code: 'CAF\\e', url: 'https://example.org/upper', clicks: 1 },
        createdAt: '2023-05-01T08:00:03.000Z',
      }),
    ]);
  });

  it('have times of links and visits in a zone each', async () => {
    const options = { linkZone: 'Europe/Berlin', visitZone: 'America/New_York' };
    const sql =
      insertUrl("'a','https://a.example/','','2023-05-01 10:00:00','',0") +
      insertLog("'2023-05-02 05:14:55','a','','','',''");
    expect(await read(sql, options)).to.deep.equal([link(1, {}), visit(1, {})]);
  });

  describe('are read with', () => {
    const values = "'a','https://a.example/','','2023-05-01 08:00:00','203.0.113.7',0";
    const clicks = "'2023-05-02 09:14:55','a','direct','','203.0.113.7',''";
    const logTable =
      'click_id int, click_time datetime, shorturl text, referrer text, user_agent text, ip_address text, country_code text';
    const urlTable =
      'keyword text, url text, title text, `timestamp` timestamp, ip text, clicks int';

    const dumps: Readonly<Record<string, string>> = {
      'any prefix, and the name of a database':
        `INSERT INTO \`db\`.\`your_url\` ${urlColumns} VALUES (${values});` +
        `INSERT INTO my_other_LOG ${logColumns} VALUES (${clicks});`,
      'no prefix': insertUrl(values) + insertLog(clicks),
      'the columns of CREATE TABLE in another order':
        'CREATE TABLE x_url (clicks int, IP text, Title text, URL text, `timestamp` timestamp, KEYWORD text, plugin int);' +
        'CREATE TABLE x_log (shorturl text, click_time datetime);' +
        "INSERT INTO x_url VALUES (0,'','','https://a.example/','2023-05-01 08:00:00','a',5);" +
        "INSERT INTO x_log VALUES ('a','2023-05-02 09:14:55');",
      'the columns of INSERT before those of CREATE TABLE':
        `CREATE TABLE x_url (${urlTable});CREATE TABLE x_log (${logTable});` +
        "INSERT INTO x_url (url,`timestamp`,keyword) VALUES ('https://a.example/','2023-05-01 08:00:00','a');" +
        "INSERT INTO x_log (shorturl,click_time) VALUES ('a','2023-05-02 09:14:55');",
      'no columns': `INSERT INTO y_url VALUES (${values});INSERT INTO y_log VALUES (1,${clicks});`,
      blobs:
        insertUrl(
          "0x61,_binary 'https://a.example/','',0x323032332d30352d30312030383a30303a3030,'',0",
        ) + insertLog("'2023-05-02 09:14:55',x'61','','','',''"),
      'tables of other programs':
        'CREATE TABLE wp_log (id int, message text);CREATE TABLE wp_url (id int, url text);' +
        "INSERT INTO wp_log VALUES (1,'a'),(NOW());INSERT INTO wp_url VALUES (1,'a',3);" +
        'INSERT INTO z_log VALUES (1,2);INSERT INTO urls VALUES (1,2,3,4,5,6);' +
        insertUrl(values) +
        insertLog(clicks),
    };
    for (const [what, sql] of Object.entries(dumps)) {
      it(what, async () => {
        expect(await read(sql)).to.deep.equal([link(1, {}), visit(1, {})]);
      });
    }
  });

  it('have a link without values that cannot be read', async () => {
    const row = (time: string, clicks: string) =>
      insertUrl(`'a','https://a.example/',NULL,${time},NULL,${clicks}`);
    const time = "'2023-05-01 08:00:00'";
    const noTime = 'The value "0000-00-00 00:00:00" of "timestamp" is not a time. It was left out.';
    const noNumber = `The value "-${'1'.repeat(99)}" of "clicks" is not a whole number. It was left out.`;
    for (const [sql, fields] of [
      [row("'0000-00-00 00:00:00'", '0'), { createdAt: null, messages: [noTime] }],
      [row('NULL', 'NULL'), { createdAt: null }],
      [row(time, `'-${'1'.repeat(99)}'`), { messages: [noNumber] }],
      [row(time, '4294967295'), { clicks: 4_294_967_295 }],
    ] as const) {
      expect(await read(sql)).to.deep.equal([link(1, fields)]);
    }
  });

  it('have no country for a code of another format', async () => {
    for (const [code, country] of Object.entries({ de: 'DE', D: null, '??': null, DEU: null })) {
      const sql = insertLog(`'2023-05-02 09:14:55','a','','','','${code}'`);
      expect(await read(sql)).to.deep.equal([visit(1, { country })]);
    }
  });

  it('have invalid rows, with their code and URL as far as they are known', async () => {
    const time = "'2023-05-02 09:14:55'";
    const long = 'x'.repeat(100_000);
    const sql = [
      insertLog("'0000-00-00 00:00:00','a','','','',''"),
      insertLog("NULL,'a','','','',''"),
      insertLog(`${time},NULL,'','','',''`),
      insertUrl("NULL,'https://a.example/','',NULL,'',0"),
      insertUrl("'a',NULL,'',NULL,'',0"),
      insertUrl("'a','https://a.example/',''"),
      insertUrl("'a','https://a.example/',UPPER('x'),NULL,'',0"),
      insertUrl(`'a','https://a.example/','${long}',NULL,'',0`),
      insertUrl(`'a','https://a.example/',0x6be47365,NULL,'',0`),
      insertUrl(`'${long.slice(0, 3_000)}','a'`),
      "INSERT INTO yourls_url VALUES ('a','https://a.ex",
    ];
    const url = 'https://a.example/';
    const expected: readonly (readonly [string | null, string | null, string])[] = [
      ['a', null, 'The time of the click, "0000-00-00 00:00:00", is not a time.'],
      ['a', null, 'The time of the click, NULL, is not a time.'],
      [null, null, 'The shorturl of the click is NULL.'],
      [null, url, 'The keyword is NULL.'],
      ['a', null, 'The url is NULL.'],
      ['a', url, 'The row has 3 values for 6 columns.'],
      ['a', url, 'The row is not a list of literal values.'],
      ['a', url, 'The row is longer than 100000 characters.'],
      ['a', url, 'The row has the byte 0xE4, which is not valid in the encoding of the file.'],
      ['x'.repeat(200), 'a', 'The row has 2 values for 6 columns.'],
      ['a', null, 'The file ends within this row.'],
    ];
    expect(await read(sql.join('\n'), {}, 4_096)).to.deep.equal(
      expected.map(([code, destination, message], index) =>
        invalidRecord(index + 1, message, { code, url: destination }),
      ),
    );
  });

  it('can have empty tables, but not none', async () => {
    expect(await read(dump.replaceAll(/^INSERT .*$/gm, ''))).to.deep.equal([]);
    const message =
      'The file has no table of YOURLS: a table of links has the columns keyword, url and timestamp.';
    for (const sql of ['', 'keyword,url\na,b', 'CREATE TABLE x_url (id int, url text);']) {
      await expectFault(read(sql), message);
    }
  });
});
