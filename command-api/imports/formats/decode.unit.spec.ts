import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { expectFault, toAsync } from '../../testing/import-files.js';
import { decodeFile } from './decode.js';
import { ImportFileFault } from './records.js';
import { encodings } from '../../../schemas/encodings.js';

const limits = { maxBytes: 10_000 };

const cut = (bytes: Uint8Array, size: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

const decode = async (
  bytes: Uint8Array,
  size = bytes.length || 1,
  encoding?: string,
): Promise<string> => {
  let text = '';
  const chunks = toAsync(cut(bytes, size));
  for await (const part of decodeFile(chunks, { ...limits, encoding })) text += part;
  return text;
};

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('imports: text of files', () => {
  const text = 'code,url\nkäse 😀,https://example.org/\n';
  const encoded: readonly (readonly [name: string, bytes: Uint8Array, text: string])[] = [
    ['UTF-8', Buffer.from(text), text],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`), text],
    ['UTF-16 LE with a byte order mark', utf16(text), text],
    ['UTF-16 BE with a byte order mark', utf16(text).swap16(), text],
    ['gzip', gzipSync(text), text],
    ['gzip of UTF-16', gzipSync(utf16(text)), text],
    ['several gzip members', Buffer.concat([gzipSync('a,'), gzipSync(text)]), `a,${text}`],
    ['windows-1252', Buffer.from('k\xe4se,\x80\x92\x81\xc3.', 'latin1'), 'käse,€’\u0081Ã.'],
    ['UTF-8 after windows-1252', Buffer.from('k\xe4se,\xc3\xa4', 'latin1'), 'k\udce4se,ä'],
    ['windows-1252 in the last byte', Buffer.from('caf\xe9', 'latin1'), 'café'],
    ['UTF-8 in the last bytes', Buffer.from('café'), 'café'],
    ['ASCII with NUL', Buffer.from('a\0b'), 'a\0b'],
    ['a byte order mark alone', Buffer.from('\ufeff'), ''],
    ['an empty file', Buffer.alloc(0), ''],
  ];
  for (const [name, bytes, expected] of encoded) {
    it(`decodes ${name}, with any chunks`, async () => {
      for (const size of [1, 2, 3, 5, 1_000]) expect(await decode(bytes, size)).to.equal(expected);
    });
  }

  it('marks each byte that is not valid, and keeps characters around it', async () => {
    for (const [encoding, bytes, expected] of [
      [
        'utf-8',
        '\xc3\xa4,\x01\xe4,\x80\xf0\x9f\xef\xbf\xbd',
        'ä,\u0001\udce4,\udc80\udcf0\udc9f\ufffd',
      ],
      [
        'utf-8',
        '\xed\xa0\xbd\xc0\x80\xf4\x90\x80\x80',
        '\udced\udca0\udcbd\udcc0\udc80\udcf4\udc90\udc80\udc80',
      ],
      ['windows-1253', '\xd2\xe1,\xff', '\udcd2α,\udcff'],
      ['shift_jis', '\x95\x5c,\x95,\xff\x82\xa0\x85\x40', '表,\udc95,\udcffあ\udc85@'],
      ['euc-jp', '\xa4\xa2\x8e\xb1\x8f\xb0\xa1,\x81\xa4', 'あｱ丂,\udc81\udca4'],
      ['euc-kr', '\xb0\xa1,\xff\xb0\xa1', '가,\udcff가'],
      ['gb18030', '\x81\x30\x81\x30,\xff\xb0\xa1\x80', '\u0080,\udcff啊€'],
      ['big5', '\xa4\x40,\xff\xa4\x40', '一,\udcff一'],
      ['utf-16le', 'a\0\x3d\xd8b\0\x41', 'a\ud83db\udc41\udc41'],
      ['utf-16be', '\0a\0b\x41', 'ab\udc41\udc41'],
    ] as const) {
      for (const size of [1, 2, 3, 1_000]) {
        const decoded = await decode(Buffer.from(bytes, 'latin1'), size, encoding);
        expect([encoding, decoded]).to.deep.equal([encoding, expected]);
      }
    }
  });

  it('decodes each encoding of the parameter, whatever byte order mark the file has', async () => {
    const samples: Readonly<Record<string, readonly [bytes: string, text: string]>> = {
      'windows-1250': ['\xb9\x9c', 'ąś'],
      'windows-1251': ['\xcf\xf0', 'Пр'],
      'windows-1252': ['\x80\xe4', '€ä'],
      'iso-8859-1': ['\x80\xe4', '€ä'],
      'iso-8859-2': ['\xb1', 'ą'],
      'iso-8859-15': ['\xa4', '€'],
      'koi8-r': ['\xf0\xd2', 'Пр'],
      macintosh: ['\x80\x8a', 'Ää'],
      shift_jis: ['\x83\x65\x83\x58\x5c~', 'テス\\~'],
    };
    for (const [encoding, [bytes, expected]] of Object.entries(samples)) {
      for (const start of ['', '\xef\xbb\xbf', '\xff\xfe']) {
        const file = Buffer.from(`${start}a,${bytes}\n`, 'latin1');
        expect(await decode(file, 2, encoding)).to.equal(`a,${expected}\n`);
      }
    }
    for (const encoding of encodings) {
      const isUtf16 = encoding.startsWith('utf-16');
      const file = isUtf16 ? utf16('code,~\\\n').subarray(2) : Buffer.from('code,~\\\n');
      if (encoding === 'utf-16be') file.swap16();
      expect([encoding, await decode(file, 3, encoding)]).to.deep.equal([encoding, 'code,~\\\n']);
    }
  });

  it('detects the encoding by the first MiB', async () => {
    const pad = (bytes: number): string => 'a,b\n'.repeat(bytes / 4);
    const mebibyte = 1_048_576;
    for (const [before, after, expected] of [
      ['\xe4', '\xc3\xa4', '\udce4|ä'],
      ['\xe4', '\xe4', 'ä|ä'],
      ['', '\xe4', '|\udce4'],
    ] as const) {
      for (const [size, between] of [
        [mebibyte - 8, ''],
        [mebibyte, ','],
      ] as const) {
        // After the MiB, UTF-8 does not make the file UTF-8.
        const isLate = size === mebibyte && before !== '' && after.length > 1;
        const text = `${before}\n${pad(size)}${between}|${after}`;
        const decoded = await decode(Buffer.from(text, 'latin1'), 65_536);
        const found = decoded.replaceAll(/[a-b,\n]/g, '');
        expect(found).to.equal(
          isLate ? 'ä|Ã¤' : before === '' && size < mebibyte ? '|ä' : expected,
        );
      }
    }
  });

  it('decodes what is readable of an incomplete gzip file before the fault', async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `code${index},https://a.example/`);
    const whole = lines.join('\n');
    const bytes = gzipSync(whole);
    for (const length of [12, 500, bytes.length - 9, bytes.length - 1]) {
      let decoded = '';
      const decoding = async () => {
        const chunks = toAsync(cut(bytes.subarray(0, length), 100));
        for await (const part of decodeFile(chunks, limits)) decoded += part;
      };
      await expectFault(decoding());
      expect(whole.startsWith(decoded)).to.equal(true);
      expect(decoded.length).to.be.at.least(length > 400 ? length : 0);
    }
  });

  it('rejects damaged gzip data, and gzip that expands more than 20 times', async () => {
    const damaged = gzipSync(text.repeat(100));
    damaged.fill(0xff, 20, 60);
    await expectFault(decode(damaged));
    const inflated = (bytes: number) => decode(gzipSync(Buffer.alloc(bytes)));
    await expectFault(inflated(200_001), 'The decompressed file is larger than 200000 bytes.');
    expect(await inflated(200_000)).to.have.length(200_000);
  });

  it('passes a fault of its source on, and ends zlib when the caller stops', async () => {
    const broken = (async function* () {
      yield gzipSync(text).subarray(0, 20);
      await Promise.resolve();
      throw new Error('connection lost');
    })();
    const decoding = async () => {
      for await (const part of decodeFile(broken, limits)) expect(part).to.be.a('string');
    };
    const fault = await decoding().catch((error: unknown) => error);
    expect(fault).to.have.property('message', 'connection lost');
    for await (const part of decodeFile(toAsync(cut(gzipSync(text), 10)), limits)) {
      if (part !== '') break;
    }
  });

  it('never returns a replacement character that the file does not have', async () => {
    const named = fc.constantFrom(...encodings);
    const ascii = fc.uint8Array({ maxLength: 3, min: 0x20, max: 0x7e });
    const parts = fc.array(fc.oneof(ascii, fc.uint8Array({ maxLength: 5, min: 0x80 })));
    await fc.assert(
      fc.asyncProperty(
        named,
        parts,
        fc.integer({ min: 1, max: 9 }),
        async (encoding, list, size) => {
          const bytes = Buffer.concat(list);
          fc.pre(!bytes.includes('\ufffd') && !encoding.startsWith('utf-16'));
          const text = await decode(bytes, bytes.length || 1, encoding);
          expect(text).to.not.include('\ufffd');
          expect(await decode(bytes, size, encoding)).to.equal(text);
        },
      ),
    );
  });

  it('decodes any bytes, or reports a fault', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), fc.boolean(), async (bytes, isGzip) => {
        const file = isGzip ? Buffer.concat([Buffer.from([0x1f, 0x8b, 8]), bytes]) : bytes;
        const whole = await decode(file).catch((error: unknown) => error);
        if (whole instanceof Error) expect(whole).to.be.instanceOf(ImportFileFault);
        else expect(await decode(file, 1)).to.equal(whole);
      }),
      { numRuns: 60 },
    );
  });
});
