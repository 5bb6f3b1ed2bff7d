import { expect } from 'chai';
import { toAsync } from '../../testing/import-files.js';
import { maxRecordLength } from './records.js';
import { readSqlRecords, type SqlRecord } from './sql-rows.js';

type IsWanted = (table: string) => boolean;

const readChunks = async (
  chunks: readonly string[],
  isWanted: IsWanted = () => true,
  maxLength?: number,
): Promise<SqlRecord[]> => {
  const records: SqlRecord[] = [];
  for await (const record of readSqlRecords(toAsync(chunks), isWanted, maxLength))
    records.push(record);
  return records;
};

/** Reads a text as a whole and in chunks of one character. */
const read = async (sql: string, isWanted?: IsWanted, maxLength?: number): Promise<SqlRecord[]> => {
  const records = await readChunks([sql], isWanted, maxLength);
  expect(await readChunks(sql.split(''), isWanted, maxLength)).to.deep.equal(records);
  return records;
};

/** The values of the rows: texts, numbers as `{ number }`, blobs as `{ hex }`. Of an invalid row, its message. */
const contentOf = (records: readonly SqlRecord[]): unknown[] =>
  records.flatMap((record): unknown[] => {
    if (record.type === 'table') return [];
    if (record.type === 'invalid') return [record.message];
    const values = record.values.map((value) => {
      if (value === null) return null;
      return value.type === 'string' ? value.text : { [value.type]: value.text };
    });
    return [values];
  });

const readContent = async (...args: Parameters<typeof read>): Promise<unknown[]> =>
  contentOf(await read(...args));

const readValues = async (values: string): Promise<unknown> =>
  (await readContent(`INSERT INTO t VALUES (${values});`))[0];

const notLiteral = 'The row is not a list of literal values.';
const malformed = 'The INSERT statement is malformed.';
const cutRow = 'The file ends within this row.';
const cutInsert = 'The file ends within this INSERT statement.';

describe('imports: rows of SQL dumps', () => {
  describe('reads values', () => {
    it('of strings with escapes and doubled quotes', async () => {
      const sql = String.raw`'\'\"\\\n\r\t\0\Z\b\x', 'it''s ""', "say ""hi"" ''", '', '10\% a\_b'`;
      const first = '\'"\\\n\r\t\0\x1a\bx';
      // MySQL keeps the backslash before % and _.
      const others = ['it\'s ""', 'say "hi" \'\'', '', String.raw`10\% a\_b`];
      expect(await readValues(sql)).to.deep.equal([first, ...others]);
    });

    it('of strings that look like SQL', async () => {
      const text = "');\nINSERT INTO `t` VALUES (1);\n-- # /* */ DELIMITER //";
      const escaped = text.replaceAll(/['\n]/g, (found) => (found === '\n' ? '\\n' : "\\'"));
      const literals = `'${escaped}', '${text.replaceAll("'", "''")}'`;
      expect(await readValues(literals)).to.deep.equal([text, text]);
    });

    it('of numbers, as in the file, blobs and NULL', async () => {
      const sql = '0,-17,+4,1.50,-.5,1.,2e10,1.5E-3,18446744073709551615';
      const numbers = sql.replace('+', '').split(',');
      expect(await readValues(sql)).to.deep.equal(numbers.map((number) => ({ number })));
      const blobs = ['636166C3a9', '41', '', '0F'].map((hex) => ({ hex }));
      const others = await readValues(`0x636166C3a9,x'41',X'',0xF,NULL,null`);
      expect(others).to.deep.equal([...blobs, null, null]);
    });

    it('with character sets before them', async () => {
      const values = String.raw`_binary 'a\'b',_utf8mb4'é',_latin1 0x41,_binary x'42',N'n'`;
      expect(await readValues(values)).to.deep.equal([
        ...["a'b", 'é', { hex: '41' }, { hex: '42' }, 'n'],
      ]);
    });

    it('with comments and line ends between them', async () => {
      expect(await readValues(`1 /* ); */,-- ' \r\n\t2,# "\n3 /*!40101 ' */ ' */`)).to.deep.equal(
        [1, 2, 3].map((number) => ({ number: String(number) })),
      );
    });
  });

  describe('reports a row as invalid, and reads the rows after it, if', () => {
    const invalidRows: Readonly<Record<string, string>> = {
      'it calls a function': "NOW(), CONCAT('a);', (1))",
      'it has an expression': '1+1',
      'two strings follow each other': "'a' 'b'",
      'a value is missing': '1,,2',
      'the last value is missing': '1,',
      'it is empty': '',
      'a word is unknown': 'DEFAULT',
      'a blob has other characters': "x'4g'",
      'a number continues as a word': '12abc',
      'a sign has no number': "-'1'",
    };
    for (const [what, values] of Object.entries(invalidRows)) {
      it(what, async () => {
        const sql = `INSERT INTO t VALUES (1),(${values}),(2);INSERT INTO t VALUES (3);`;
        const [first, second, third] = ['1', '2', '3'].map((number) => [{ number }]);
        expect(await readContent(sql)).to.deep.equal([first, notLiteral, second, third]);
      });
    }

    it('it is too long', async () => {
      const sql = `INSERT INTO t VALUES ('a'),(1,'${'x'.repeat(maxRecordLength)}',2),('b');`;
      const message = 'The row is longer than 100000 characters.';
      const records = await readChunks([sql]);
      expect(contentOf(records)).to.deep.equal([['a'], message, ['b']]);
      const values = [{ type: 'number', text: '1' }];
      expect(records[1]).to.deep.include({ message, values });
    });

    it('it has no comma before it', async () => {
      const sql = "INSERT INTO t VALUES ('a')('b'),('c');INSERT INTO t VALUES ('d');";
      expect(await readContent(sql)).to.deep.equal([['a'], malformed, ['d']]);
    });

    it('it has no end before the end of the statement', async () => {
      const sql = "INSERT INTO t VALUES ('a',;INSERT INTO t VALUES ('b');";
      expect(await readContent(sql)).to.deep.equal([notLiteral, ['b']]);
    });
  });

  describe('reads the rows after a row whose quote is not closed', () => {
    const [good, bad] = ["('a','b','c')", "('a','b,'c')"];
    const row = ['a', 'b', 'c'];
    for (const [what, sql] of [
      ['of one line', `INSERT INTO t VALUES ${[good, bad, good, good].join()};`],
      ['on lines', `INSERT INTO t VALUES\n${[good, bad, good, good].join(',\n')};\n`],
      ['on lines with CR LF', `INSERT INTO t VALUES\r\n${[good, bad, good, good].join(',\r\n')};`],
      [
        'of other statements',
        [good, bad, good, good].map((values) => `INSERT INTO t VALUES ${values};\n`).join(''),
      ],
      ['that is cut', `INSERT INTO t VALUES\n${good},\n('a','b\n${good},\n${good};\n`],
    ] as const) {
      it(what, async () => {
        const [first, fault, ...others] = await readContent(sql);
        expect([first, ...others]).to.deep.equal([row, row, row]);
        expect(fault).to.be.a('string');
      });
    }
  });

  it('reads a row of exactly the maximum length, also in chunks of one character', async () => {
    const row = (length: number) => `('${'x'.repeat(length - 4)}')`;
    const sql = `INSERT INTO t VALUES ${[20, 20, 21].map(row).join()};`;
    const longest = ['x'.repeat(16)];
    const message = 'The row is longer than 20 characters.';
    expect(contentOf(await read(sql, undefined, 20))).to.deep.equal([longest, longest, message]);
    const content = contentOf(await readChunks([`INSERT INTO t VALUES ${row(maxRecordLength)}`]));
    expect(content).to.deep.equal([['x'.repeat(maxRecordLength - 4)]]);
  });

  it('skips a long string of doubled quotes', async () => {
    const sql = `SELECT '${"''".repeat(50_000)}';INSERT INTO t VALUES (1);`;
    expect(await readContent(sql)).to.deep.equal([[{ number: '1' }]]);
  });

  describe('reads the columns', () => {
    const columnsOf = async (sql: string): Promise<unknown> =>
      (await read(sql)).flatMap((record) => (record.type === 'row' ? [record.columns] : []));

    it('of the statement', async () => {
      const sql = 'INSERT INTO t (`a``b`, "c""d", e) VALUES (1,2,3);';
      expect(await columnsOf(sql)).to.deep.equal([['a`b', 'c"d', 'e']]);
    });

    it('of the last CREATE TABLE, without keys', async () => {
      const create = `CREATE TABLE IF NOT EXISTS \`db\`.\`t\` (
        \`id\` int(11) unsigned NOT NULL DEFAULT '1, \`x\`' COMMENT ');', -- a comment, \`y\` int
        \`key\` enum('a','b') DEFAULT (1 + (2)),
        timestamp timestamp /*!50606 STORAGE DISK */ DEFAULT current_timestamp(),
        PRIMARY KEY (\`id\`, \`key\`), UNIQUE KEY \`u\` (\`key\`(10)), KEY k (timestamp),
        CONSTRAINT c CHECK (id > 0), FULLTEXT KEY f (\`key\`)
      ) ENGINE=InnoDB COMMENT='(;';`;
      const other = 'CREATE TABLE t (z int);';
      const columns = ['id', 'key', 'timestamp'];
      expect(await columnsOf(`${other}${create}INSERT t VALUES (1,2,3);`)).to.deep.equal([columns]);
      const table = { type: 'table', line: 1, table: 't', columns };
      expect((await read(create))[0]).to.deep.equal(table);
    });

    it('and has none without both', async () => {
      const sql = 'CREATE TABLE t LIKE u; CREATE TABLE v (a int); INSERT INTO t VALUES (1);';
      expect(await columnsOf(sql)).to.deep.equal([null]);
    });

    it('of the 100 last tables', async () => {
      const create = (index: number): string => `CREATE TABLE t${index} (a int);`;
      const sql = Array.from({ length: 101 }, (_, index) => create(index)).join('\n');
      const inserts = 'INSERT INTO t0 VALUES (1);INSERT INTO t1 VALUES (1);';
      expect(await columnsOf(sql + inserts)).to.deep.equal([null, ['a']]);
    });
  });

  it('reads the statements that insert rows', async () => {
    const statements = [
      ...["INSERT IGNORE INTO `t` VALUES ('a')", "replace into t value ('b')"],
      ...["INSERT LOW_PRIORITY `db` . `t` VALUES ('c')", "INSERT INTO db.t (x) VALUES\n('d')"],
      ...["INSERT /*!32302 IGNORE */ INTO t VALUES ('e') ON DUPLICATE KEY UPDATE x = VALUES(x)"],
      ...["INSERT INTO `in``to` VALUES ('f') AS new", 'INSERT INTO "t" VALUES (\'g\')'],
      ...["INSERT INTO `d\\`.t VALUES ('h') /*! -- */\n ; ' */"],
    ];
    const records = await read(statements.join(';\n'));
    expect(contentOf(records)).to.deep.equal(Array.from('abcdefgh', (value) => [value]));
    expect(new Set(records.map(({ table }) => table))).to.deep.equal(new Set(['t', 'in`to']));
  });

  it('reports statements whose rows it cannot read', async () => {
    const unsupported = 'The INSERT statement has no VALUES.';
    const statementsAndContent: readonly (readonly [sql: string, content: unknown])[] = [
      ['INSERT INTO t SET a = 1', unsupported],
      ['INSERT INTO t SELECT 1', unsupported],
      ['INSERT INTO t (a', malformed],
      ['INSERT INTO t', unsupported],
      ['INSERT INTO t (NULL, ) VALUES (1)', malformed],
      ['INSERT INTO t VALUES 1', malformed],
      ['INSERT INTO t VALUES (1)', [{ number: '1' }]],
    ];
    const sql = statementsAndContent.map(([statement]) => statement).join(';');
    expect(await readContent(sql)).to.deep.equal(
      statementsAndContent.map(([, content]) => content),
    );
    const long = `INSERT INTO t (${'a,'.repeat(60_000)}a) VALUES (1)`;
    const message = 'The INSERT statement has more than 100000 characters before its rows.';
    expect(contentOf(await readChunks([long]))).to.deep.equal([message]);
  });

  it('skips comments, other statements and tables that are not wanted', async () => {
    const insert = "INSERT INTO t VALUES ('no');";
    const sql = `/*M!999999\\- enable the sandbox mode */
-- MySQL dump ${insert}
--
# ${insert}
/* ${insert} */ /* don't */
/*!40101 SET NAMES utf8mb4 */; /*!50003 ${insert} /* nested */ ${insert} -- don't */
  SET x = '*/'; ${insert} */;
--\t${insert}
SET x = 1 --${insert}
LOCK TABLES t WRITE; UPDATE t SET a = 'INSERT INTO t VALUES (1);';
INSERT INTO other VALUES (NOW()),('a;b'),(1;
CREATE TABLE other (a int);
INSERT INTO t VALUES ('yes');`;
    expect(await readContent(sql, (table) => table === 't')).to.deep.equal([['yes']]);
  });

  it('skips triggers and routines, whose statements end with another delimiter', async () => {
    const trigger =
      'CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN INSERT INTO t VALUES (1);';
    const sql = [
      ...['DELIMITER ;;', `/*!50003 CREATE*/ /*!50003 TRIGGER y BEGIN ${trigger} END */;;`],
      ...['DELIMITER ;', "INSERT INTO t VALUES ('a');", 'delimiter $$ ', `${trigger} END$$`],
      ...["INSERT INTO t VALUES ('b'),(';')$$", 'DELIMITER //', `${trigger} END // DELIMITER ;`],
      ...["INSERT INTO t VALUES ('c');", 'DELIMITER', 'DELIMITER "', "INSERT INTO t VALUES ('d');"],
    ].join('\r\n');
    expect(await readContent(sql)).to.deep.equal([['a'], ['b'], [';'], ['c'], ['d']]);
  });

  describe('of a truncated dump', () => {
    const sql = "CREATE TABLE t (a int);\nINSERT INTO t VALUES ('a'),\n('b\\'c')";

    it('reads the complete rows', async () => {
      expect(await readContent(sql)).to.deep.equal([['a'], ["b'c"]]);
    });

    it('reports the row or the statement that is cut', async () => {
      const start = sql.indexOf('INSERT');
      const name = sql.indexOf('t VALUES', start);
      const values = sql.indexOf('(', start);
      const second = sql.indexOf("('b", start);
      for (let end = start; end < sql.length; end += 1) {
        const expected: unknown[] = end > name ? [cutInsert] : [];
        if (end > values) expected[0] = cutRow;
        if (end >= second - 2) expected[0] = ['a'];
        if (end >= second - 1) expected[1] = end > second ? cutRow : cutInsert;
        const text = sql.slice(0, end);
        expect(await readContent(text, (table) => table === 't'), text).to.deep.equal(expected);
      }
    });

    it('reads a dump that follows without a delimiter', async () => {
      const content = await readContent(`${sql}\n${sql};`);
      expect(content).to.deep.equal([['a'], ["b'c"], ['a'], ["b'c"]]);
    });
  });

  it('returns the line on which each row starts', async () => {
    const sql =
      "\n/*\n*/INSERT INTO t VALUES\n(1),('a\nb'),\r\n(\n2),(NOW(\n)),(3);\n\nINSERT INTO t SET a = 1;";
    const lines = [4, 4, 6, 7, 8, 10];
    expect((await read(sql)).map(({ line }) => line)).to.deep.equal(lines);
  });

  it('returns rows before the statement ends', async () => {
    let chunks = 0;
    async function* endless(): AsyncGenerator<string, void, undefined> {
      yield 'INSERT INTO t VALUES (0)';
      for (; ; chunks += 1) yield await Promise.resolve(`,(${chunks})`);
    }
    for await (const record of readSqlRecords(endless(), () => true))
      if (record.type === 'row' && record.values[0]?.text === '1000') break;
    expect(chunks).to.be.below(15_000);
  });
});
