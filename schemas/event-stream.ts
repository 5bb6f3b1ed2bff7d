/** Server-Sent Events (HTML standard, 9.2.6), for clients that `EventSource` does not suit: it sends no headers. */

export interface StreamMessage {
  /** The last `id` of the stream; empty before the first one. */
  readonly id: string;
  /** The type of the message. */
  readonly event: string;
  readonly data: string;
}

/** Parses one connection. A message that the end of the connection cuts is dropped, as the standard requires. */
export class EventStreamParser {
  /** The start of a line. */
  #rest = '';
  /** Whether the last chunk ended with CR: a following LF ends no other line. */
  #endsWithCr = false;
  #id = '';
  #event = '';
  #data: string[] = [];

  /** @param chunk decoded text, which may be cut anywhere */
  push(chunk: string): StreamMessage[] {
    if (chunk === '') return [];
    const text = this.#endsWithCr && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
    this.#endsWithCr = chunk.endsWith('\r');
    const lines = (this.#rest + text).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#read(line) ?? []);
  }

  #read(line: string): StreamMessage | null {
    if (line === '') return this.#dispatch();
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    // Other fields, and comments, whose name is empty, are ignored.
    return null;
  }

  #dispatch(): StreamMessage | null {
    const [event, data] = [this.#event || 'message', this.#data];
    this.#event = '';
    this.#data = [];
    return data.length === 0 ? null : { id: this.#id, event, data: data.join('\n') };
  }
}
