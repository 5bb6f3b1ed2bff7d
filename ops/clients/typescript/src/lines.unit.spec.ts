import { expect } from 'chai';
import fc from 'fast-check';
import { EventStreamParser } from '../../../../schemas/event-stream.js';
import { rejection } from '../../../test/support/waiting.js';
import { messagesOf, objectsOf, type Message } from './lines.js';

/** The bytes of a text, cut at these positions. */
const chunksOf = async function* (
  text: string,
  cuts: readonly number[] = [],
): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    yield await Promise.resolve(bytes.subarray(start, end));
    start = end;
  }
};

const collect = async <Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> => {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
};

const line = fc.oneof(
  fc.constantFrom('', '', ':', ': comment', 'data', 'data:', 'event: position', 'id: c1', 'id:c2'),
  fc
    .string({ unit: 'grapheme', maxLength: 8 })
    .map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
);

describe('client: lines of a response', () => {
  it('are messages of Server-Sent Events like those of the parser of the console, cut anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 20 }),
        fc.constantFrom('\n', '\r\n'),
        fc.array(fc.nat(), { maxLength: 6 }),
        async (lines, end, cuts) => {
          const text = lines.map((content) => content + end).join('');
          const expected: readonly Message[] = new EventStreamParser().push(text);
          expect(await collect(messagesOf(chunksOf(text, cuts)))).to.deep.equal(expected);
        },
      ),
    );
  });

  it('drop a message that the end cuts', async () => {
    expect(await collect(messagesOf(chunksOf('data: 1\n\ndata: 2\n')))).to.deep.equal([
      { id: '', event: 'message', data: '1' },
    ]);
  });

  it('are objects of JSON lines, the last one also without a line break', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ a: fc.string({ unit: 'grapheme' }) })),
        fc.boolean(),
        fc.array(fc.nat(), { maxLength: 6 }),
        async (rows, isEnded, cuts) => {
          const text = rows.map((row) => JSON.stringify(row)).join('\n') + (isEnded ? '\n' : '');
          expect(await collect(objectsOf(chunksOf(text, cuts)))).to.deep.equal(rows);
        },
      ),
    );
  });

  it('have a bounded length', async () => {
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      for (;;) yield await Promise.resolve(new Uint8Array(1_000_000).fill(97));
    };
    const error = await rejection(collect(messagesOf(endless())));
    expect(error).to.have.property('message', 'A line is too long');
  });
});
