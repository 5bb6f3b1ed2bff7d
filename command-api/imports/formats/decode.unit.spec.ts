import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { expectFault, toAsync } from '../../testing/import-files.js';
import { decodeFile } from './decode.js';
import { ImportFileFault } from './source-record.js';
import { codePoint } from '../../../schemas/testing/code-point.js';

const limits = { maxBytes: 10_000 };

const cut = (bytes: Uint8Array, size: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

const decode = async (bytes: Uint8Array, size = bytes.length || 1): Promise<string> => {
  let text = '';
  for await (const part of decodeFile(toAsync(cut(bytes, size)), limits)) text += part;
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
    ['windows-1252', Buffer.from('k\xe4se,\x80\x92\x81\xc3\xa4', 'latin1'), 'käse,€’\u0081Ã¤'],
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

  it('replaces invalid bytes after a character of UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('ä,'), Buffer.from([0xe4, 0x2c, 0x80, 0xf0, 0x9f])]);
    expect(await decode(bytes)).to.equal('ä,\ufffd,\ufffd\ufffd');
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

  it('decodes any text of UTF-8 and UTF-16 in any chunks', async () => {
    const anyText = fc.string({ unit: codePoint }).filter((value) => !value.startsWith('\ufeff'));
    await fc.assert(
      fc.asyncProperty(anyText, fc.integer({ min: 1, max: 9 }), async (value, size) => {
        expect(await decode(Buffer.from(value), size)).to.equal(value);
        expect(await decode(utf16(value), size)).to.equal(value);
        expect(await decode(gzipSync(utf16(value).swap16()), size)).to.equal(value);
      }),
      { numRuns: 20 },
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
