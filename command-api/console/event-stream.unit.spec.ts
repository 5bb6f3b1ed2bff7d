import { expect } from 'chai';
import fc from 'fast-check';
import { EventStreamParser, type StreamMessage } from './event-stream.js';

const parse = (...chunks: readonly string[]) => {
  const parser = new EventStreamParser();
  const messages: StreamMessage[] = chunks.flatMap((chunk) => parser.push(chunk));
  return { messages, lastEventId: parser.lastEventId, retryMs: parser.retryMs };
};

const message = (data: string, type = 'message'): StreamMessage => ({ type, data });

describe('parser of event streams', () => {
  it('reads messages with and without a type', () => {
    const text = 'retry: 2000\n\nid: a\ndata: {"x":1}\n\nevent: position\nid: b\ndata: 2\n\n';
    expect(parse(text)).to.deep.equal({
      messages: [message('{"x":1}'), message('2', 'position')],
      lastEventId: 'b',
      retryMs: 2_000,
    });
  });

  it('joins the lines of data, and removes one space after the colon', () => {
    expect(parse('data: one\ndata:two\ndata:  three\ndata\n\n').messages).to.deep.equal([
      message('one\ntwo\n three\n'),
    ]);
  });

  it('ignores comments, unknown fields, and messages without data', () => {
    const { messages } = parse(': comment\n:\nother: x\n\nevent: empty\n\ndata: y\n\n');
    expect(messages).to.deep.equal([message('y')]);
  });

  it('keeps an ID until the next one, and updates it with complete messages only', () => {
    expect(parse('id: a\ndata: 1\n\ndata: 2\n\n').lastEventId).to.equal('a');
    expect(parse('id: a\ndata: 1\n\nid: b\ndata: 2\n').lastEventId).to.equal('a');
    expect(parse('id: a\n\n').lastEventId).to.equal('a');
    expect(parse('id: a\n\nid\n\n').lastEventId).to.equal('');
    expect(parse('id: a\n\nid: b\0\n\n').lastEventId).to.equal('a');
  });

  it('accepts only digits as retry', () => {
    expect(parse('retry: 2s\n\n').retryMs).to.equal(null);
    expect(parse('retry: 10\nretry: -1\n\n').retryMs).to.equal(10);
  });

  it('drops a message that the end of the stream cuts', () => {
    expect(parse('data: 1\n\ndata: 2').messages).to.deep.equal([message('1')]);
  });

  it('reads the same messages with any line ends, cut anywhere', () => {
    const lines = fc.array(
      fc.constantFrom(
        'data: 1',
        'data',
        'id: a',
        'event: e',
        ': c',
        '',
        '',
        'retry: 5',
        'data: é🎉',
      ),
    );
    fc.assert(
      fc.property(
        lines,
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(80)),
        (texts, end, cuts) => {
          const text = texts.map((line) => line + end).join('');
          const at = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length];
          at.sort((a, b) => a - b);
          const chunks = at.slice(1).map((to, index) => text.slice(at[index], to));
          expect(parse(...chunks)).to.deep.equal(parse(texts.map((line) => `${line}\n`).join('')));
        },
      ),
    );
  });
});
