/** A parser of server-sent events, as in https://html.spec.whatwg.org/multipage/server-sent-events.html */

export interface StreamMessage {
  /** The value of `event`; `message` without one. */
  readonly type: string;
  readonly data: string;
}

/** Parses one stream, whose text may be cut anywhere. */
export class EventStreamParser {
  /** The ID of the last complete message, to continue after it; empty before the first one. */
  lastEventId = '';
  /** How long to wait before a reconnection, as the server requests it (ms); `null` if it does not. */
  retryMs: number | null = null;
  /** The start of a line. */
  #rest = '';
  #endsWithCr = false;
  #id = '';
  #type = '';
  #data: string[] = [];

  /** Returns the messages that the text completes. */
  push(text: string): readonly StreamMessage[] {
    if (text === '') return [];
    // A CR at the end of the previous text ended a line, together with this LF.
    const isCrLf = this.#endsWithCr && text.startsWith('\n');
    this.#endsWithCr = text.endsWith('\r');
    const lines = (this.#rest + text.slice(isCrLf ? 1 : 0)).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => (line === '' ? this.#endMessage() : this.#read(line)));
  }

  #read(line: string): [] {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    switch (field) {
      case 'event':
        this.#type = value;
        break;
      case 'data':
        this.#data.push(value);
        break;
      case 'id':
        if (!value.includes('\0')) this.#id = value;
        break;
      case 'retry':
        if (/^\d+$/.test(value)) this.retryMs = Number(value);
        break;
      default:
      // A comment (an empty field), or a field of a later version.
    }
    return [];
  }

  #endMessage(): readonly StreamMessage[] {
    const message = { type: this.#type || 'message', data: this.#data.join('\n') };
    const isEmpty = this.#data.length === 0;
    this.lastEventId = this.#id;
    this.#type = '';
    this.#data = [];
    return isEmpty ? [] : [message];
  }
}
