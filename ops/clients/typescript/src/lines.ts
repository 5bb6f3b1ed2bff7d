import { ConnectionError } from './errors.js';

/** UTF-16 code units. The longest line of the API is a link with 64 KiB of options. */
const maxLineLength = 4_000_000;

/** The lines of a text. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    // A CR at the end may be the first half of CR LF.
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    if (rest.length > maxLineLength) throw new ConnectionError('A line is too long');
    yield* lines;
  }
  if (rest !== '') yield rest.replace(/\r$/, '');
}

/** The objects of JSON lines. */
export async function* objectsOf<Row>(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Row> {
  for await (const line of linesOf(chunks)) {
    if (line !== '') yield JSON.parse(line) as Row;
  }
}

/** A message of Server-Sent Events (HTML standard, 9.2.6). */
export interface Message {
  /** The last `id` of the connection; empty before the first one. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** The messages of a connection. A message that the end of the connection cuts is dropped. */
export async function* messagesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  let id = '';
  let event = '';
  let data: string[] = [];
  for await (const line of linesOf(chunks)) {
    if (line === '') {
      if (data.length > 0) yield { id, event: event || 'message', data: data.join('\n') };
      event = '';
      data = [];
      continue;
    }
    // Comments have an empty name.
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
  }
}
