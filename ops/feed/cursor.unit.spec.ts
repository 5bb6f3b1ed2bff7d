import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { accountsPartition } from '../../schemas/read-models/history.js';
import { topics } from '../../schemas/events/topics.js';
import {
  decodeCursor,
  encodeCursor,
  feedPartitions,
  firstIndexOf,
  logIdentity,
  startCursor,
  type Cursor,
} from './cursor.js';

const someLogIds = fc.array(fc.string(), { minLength: 1, maxLength: 5 });
const someIdentity = someLogIds.map(logIdentity);
const someOffset = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat(),
  // The limits of each length of a varint.
  fc
    .tuple(fc.integer({ min: 0, max: 52 }), fc.integer({ min: -1, max: 1 }))
    .map(([bits, step]) => Math.max(0, 2 ** bits + step)),
  fc.constant(Number.MAX_SAFE_INTEGER),
);
const someCursor: fc.Arbitrary<Cursor> = fc.array(someOffset, {
  minLength: feedPartitions.length,
  maxLength: feedPartitions.length,
});
const someText = fc
  .tuple(someIdentity, someCursor)
  .map(([identity, cursor]) => encodeCursor(identity, cursor));

const base64url = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).filter(
  (character) => /[\w-]/.test(character),
);

const checksumBytes = 4;

/** A text with other content and a valid checksum. */
const withContent = (text: string, change: (content: Buffer) => Buffer): string => {
  const content = change(Buffer.from(text, 'base64url').subarray(0, -checksumBytes));
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([content, checksum]).toString('base64url');
};

const decodesTo =
  (expected: ReturnType<typeof decodeCursor>) =>
  (text: string): void => {
    expect(decodeCursor(text), text).to.deep.equal(expected);
  };
const isRejected = decodesTo(null);

describe('feed: cursors', () => {
  it('have all partitions of links, accounts and visits, in the order of the history', () => {
    expect(feedPartitions).to.have.length(17);
    expect(feedPartitions[firstIndexOf(topics.links.name)]).to.deep.equal({
      topic: topics.links.name,
      partition: 0,
    });
    expect(firstIndexOf(topics.links.name)).to.equal(0);
    expect(firstIndexOf(topics.accounts.name)).to.equal(accountsPartition);
    expect(firstIndexOf(topics.visits.name)).to.equal(accountsPartition + 1);
    expect(startCursor).to.deep.equal(feedPartitions.map(() => 0));
  });

  it('are short texts for URLs, and are returned with the identity of their log', () => {
    expect(encodeCursor(logIdentity(['a']), startCursor)).to.have.length(40);
    fc.assert(
      fc.property(someIdentity, someCursor, (identity, cursor) => {
        const text = encodeCursor(identity, cursor);
        expect(text).to.match(/^[\w-]{40,199}$/);
        decodesTo({ identity, cursor })(text);
      }),
    );
  });

  it('are rejected if any character is changed', () => {
    fc.assert(
      fc.property(someText, fc.nat(), fc.constantFrom(...base64url), (text, number, character) => {
        const at = number % text.length;
        fc.pre(text[at] !== character);
        isRejected(text.slice(0, at) + character + text.slice(at + 1));
      }),
    );
  });

  it('are rejected if they are cut, extended or repeated', () => {
    fc.assert(
      fc.property(someText, fc.string({ minLength: 1 }), (text, other) => {
        for (let length = 0; length < text.length; length += 1) {
          isRejected(text.slice(0, length));
          isRejected(text.slice(text.length - length));
        }
        isRejected(text + other);
        isRejected(other + text);
        isRejected(text + text);
      }),
      { numRuns: 30 },
    );
  });

  it('are rejected in other alphabets, with padding or white space', () => {
    // The first byte of the identity makes `-` and `_` certain.
    const text = encodeCursor('fbffbfefbeffffff', startCursor);
    expect(text).to.include('-').and.include('_');
    isRejected(Buffer.from(text, 'base64url').toString('base64'));
    isRejected(Buffer.from(text, 'base64url').toString('hex'));
    const oneByteMore = encodeCursor('fbffbfefbeffffff', [...startCursor.slice(1), 128]);
    for (const padded of [`${text}=`, `${oneByteMore}=`, `${oneByteMore}==`]) isRejected(padded);
    for (const space of [' ', '\n', '\t', '\0', '.', '%20']) {
      isRejected(text + space);
      isRejected(space + text);
      isRejected(`${text.slice(0, 8)}${space}${text.slice(8)}`);
    }
  });

  it('of other versions or numbers of partitions, with cut or unsafe offsets are rejected', () => {
    const text = encodeCursor(logIdentity(['a']), startCursor);
    decodesTo(decodeCursor(text))(withContent(text, (content) => content));
    const append =
      (...bytes: readonly number[]) =>
      (content: Buffer) =>
        Buffer.from([...content, ...bytes]);
    const last =
      (...bytes: readonly number[]) =>
      (content: Buffer) =>
        Buffer.from([...content.subarray(0, -1), ...bytes]);
    const changes: readonly ((content: Buffer) => Buffer)[] = [
      ...[0, 2, 255].map(
        (version) => (content: Buffer) => Buffer.from([version, ...content.subarray(1)]),
      ),
      ...[-1, 1, 0].map((end) => (content: Buffer) => content.subarray(0, end)),
      ...[append(0), append(0x80), last(0x80)],
      last(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10),
      last(...Array<number>(200).fill(0xff)),
    ];
    for (const change of changes) isRejected(withContent(text, change));
  });

  it('reject other texts', () => {
    for (const text of ['', 'start', 'now', '0', '-1', 'AQ', 'A'.repeat(40), 'ä', '\ud800']) {
      isRejected(text);
    }
  });
});
