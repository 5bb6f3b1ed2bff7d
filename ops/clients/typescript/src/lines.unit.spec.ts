import { expect } from 'chai';
import fc from 'fast-check';
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

const messagesIn = (text: string, cuts?: readonly number[]): Promise<readonly Message[]> =>
  collect(messagesOf(chunksOf(text, cuts)));

const message = (id: string, data: string, event = 'message'): Message => ({
  ...{ id, event, data },
});

const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
const cutsAnywhere = fc.array(fc.nat(), { maxLength: 6 });

/** Lines that look like fields, comments and the ends of messages. */
const trickyStream = fc
  .array(
    fc.tuple(
      fc.constantFrom('', 'data', 'id', 'event', 'retry', ' data', 'dat'),
      fc.constantFrom('', ':', ': ', ':  '),
      fc.oneof(fc.constantFrom('', 'data: x', '\u2028', '\ufeff', '😀'), fc.string()),
      lineEnd,
    ),
  )
  .map((lines) => lines.flat().join(''));

describe('client: messages of Server-Sent Events', () => {
  const cases: Readonly<Record<string, readonly [stream: string, ...Message[]]>> = {
    'have an id, a type and data': [
      'retry: 2000\n\nid: 7\ndata: {"a":1}\n\nevent: position\nid: 8\ndata: {}\n\n',
      ...[message('7', '{"a":1}'), message('8', '{}', 'position')],
    ],
    'have several lines of data, without one space after the colon': [
      'data: a\ndata:b\ndata\ndata:  c\n\n',
      message('', 'a\nb\n\n c'),
    ],
    'have no comments, no unknown fields and no id with U+0000': [
      ': comment\ndata: a\nfoo: b\nDATA: c\nid: 1\0\n\n',
      message('', 'a'),
    ],
    'have the last id, also that of a message without data': [
      'id: 1\nevent: x\n\ndata: a\n\ndata: b\n\nid\ndata: c\n\n',
      ...[message('1', 'a'), message('1', 'b'), message('', 'c')],
    ],
    'are dropped if the end of the stream cuts them': ['data: a\n\ndata: b\n', message('', 'a')],
  };
  for (const [title, [stream, ...messages]] of Object.entries(cases)) {
    it(title, async () => {
      expect(await messagesIn(stream)).to.deep.equal(messages);
    });
  }

  it('arrive as soon as their last line ends', async () => {
    const open = async function* (): AsyncGenerator<Uint8Array> {
      yield* chunksOf('data: a\r\n\r\n');
      await new Promise(() => undefined);
    };
    const first = await messagesOf(open()).next();
    expect(first).to.deep.equal({ done: false, value: message('', 'a') });
  });

  it('are the same for any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(trickyStream, cutsAnywhere, async (stream, cuts) => {
        const messages = await messagesIn(stream);
        expect(await messagesIn(stream, cuts)).to.deep.equal(messages);
        const bytes = [...new TextEncoder().encode(stream).keys()];
        expect(await messagesIn(stream, bytes)).to.deep.equal(messages);
      }),
      { numRuns: 60 },
    );
  });

  it('are those that a server writes, with any line end', async () => {
    const line = fc.string().map((text) => text.replaceAll(/[\r\n\0]/g, ''));
    const written = fc.record({ id: line, event: line, data: fc.array(line, { minLength: 1 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(written), lineEnd, cutsAnywhere, async (messages, end, cuts) => {
        const stream = messages.map(({ id, event, data }) =>
          [`id: ${id}`, `event: ${event}`, ...data.map((part) => `data: ${part}`), '', ''].join(
            end,
          ),
        );
        expect(await messagesIn(stream.join(''), cuts)).to.deep.equal(
          messages.map(({ id, event, data }) => message(id, data.join('\n'), event || 'message')),
        );
      }),
      { numRuns: 40 },
    );
  });
});

describe('client: lines of a response', () => {
  it('are objects of JSON lines, the last one also without a line break', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ a: fc.string({ unit: 'grapheme' }) })),
        fc.boolean(),
        cutsAnywhere,
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
