import { expect } from 'chai';
import fc from 'fast-check';
import { EventStreamParser, type StreamMessage } from './event-stream.js';

const parse = (...chunks: readonly string[]): readonly StreamMessage[] => {
  const parser = new EventStreamParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
};

const message = (id: string, data: string, event = 'message'): StreamMessage => ({
  ...{ id, event, data },
});

const lineEnd = fc.constantFrom('\n', '\r', '\r\n');

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

/** Cuts a text at positions that are fractions of its length. */
const cut = (text: string, fractions: readonly number[]): readonly string[] => {
  const at = fractions.map((fraction) => Math.floor(fraction * text.length)).sort((a, b) => a - b);
  return [0, ...at].map((start, index) => text.slice(start, at[index] ?? text.length));
};

const fraction = fc.double({ min: 0, max: 1, noNaN: true });

describe('schemas: parser of Server-Sent Events', () => {
  const cases: Readonly<Record<string, readonly [stream: string, ...StreamMessage[]]>> = {
    'reads the id, the type and the data of messages': [
      'retry: 2000\n\nid: 7\ndata: {"a":1}\n\nevent: position\nid: 8\ndata: {}\n\n',
      ...[message('7', '{"a":1}'), message('8', '{}', 'position')],
    ],
    'joins several lines of data, and removes one space after the colon': [
      'data: a\ndata:b\ndata\ndata:  c\n\n',
      message('', 'a\nb\n\n c'),
    ],
    'ignores comments, unknown fields and an id with U+0000': [
      ': comment\ndata: a\nfoo: b\nDATA: c\nid: 1\0\n\n',
      message('', 'a'),
    ],
    'keeps the id for later messages, also that of a message without data': [
      'id: 1\nevent: x\n\ndata: a\n\ndata: b\n\nid\ndata: c\n\n',
      ...[message('1', 'a'), message('1', 'b'), message('', 'c')],
    ],
    'drops a message that the end of the stream cuts': ['data: a\n\ndata: b\n', message('', 'a')],
  };
  for (const [title, [stream, ...messages]] of Object.entries(cases)) {
    it(title, () => {
      expect(parse(stream)).to.deep.equal(messages);
    });
  }

  it('returns a message as soon as its last line ends', () => {
    const parser = new EventStreamParser();
    expect(parser.push('data: a\r\n\r')).to.deep.equal([message('', 'a')]);
    expect(parser.push('\n')).to.deep.equal([]);
    expect(parser.push('data: b\r\n\r\n')).to.deep.equal([message('', 'b')]);
  });

  it('reads the same messages from any chunks', () => {
    fc.assert(
      fc.property(trickyStream, fc.array(fraction), (stream, fractions) => {
        expect(parse(...cut(stream, fractions))).to.deep.equal(parse(stream));
        expect(parse(...stream.split(''))).to.deep.equal(parse(stream));
      }),
      { numRuns: 60 },
    );
  });

  it('reads what a server writes, with any line end', () => {
    const line = fc.string().map((text) => text.replaceAll(/[\r\n\0]/g, ''));
    const written = fc.record({ id: line, event: line, data: fc.array(line, { minLength: 1 }) });
    fc.assert(
      fc.property(fc.array(written), lineEnd, fc.array(fraction), (messages, end, fractions) => {
        const stream = messages.map(({ id, event, data }) =>
          [`id: ${id}`, `event: ${event}`, ...data.map((part) => `data: ${part}`), '', ''].join(
            end,
          ),
        );
        expect(parse(...cut(stream.join(''), fractions))).to.deep.equal(
          messages.map(({ id, event, data }) => message(id, data.join('\n'), event || 'message')),
        );
      }),
      { numRuns: 40 },
    );
  });
});
