import type pg from 'pg';

/** A statement's last parameter, in PostgreSQL's binary format: parts that are sent without being put together. */
export class ByteParts {
  constructor(readonly parts: readonly Buffer[]) {}
}

const empty = Buffer.alloc(0);
/** Behind the last parameter of a Bind message: the format of the result. */
const tailBytes = 4;

interface BindConfig {
  readonly values?: readonly unknown[];
}

/** What pg's connection has, beyond its types. */
interface Connection {
  readonly stream: pg.Connection['stream'];
  bind(config: BindConfig): void;
  _send(message: Buffer): unknown;
}

/**
 * Lets a connection (of pg 8) send `ByteParts`. pg itself copies a parameter into a message that is new memory each
 * time: for a megabyte that costs as much as all else, most of it in the garbage collector.
 */
export const sendsByteParts = (pgConnection: pg.Connection): void => {
  const connection = pgConnection as unknown as Connection;
  const bind = connection.bind.bind(connection);
  const send = connection._send.bind(connection);
  connection.bind = (config) => {
    const { values = [] } = config;
    const last = values.at(-1);
    if (!(last instanceof ByteParts)) {
      bind(config);
      return;
    }
    const { parts } = last;
    connection._send = (message) => {
      const added = parts.reduce((sum, { length }) => sum + length, 0);
      const tail = message.length - tailBytes;
      // The lengths of the message, behind its type, and of the parameter.
      message.writeInt32BE(message.readInt32BE(1) + added, 1);
      message.writeInt32BE(added, tail - 4);
      for (const part of [message.subarray(0, tail), ...parts, message.subarray(tail)]) send(part);
    };
    try {
      bind({ ...config, values: [...values.slice(0, -1), empty] });
    } finally {
      connection._send = send;
    }
  };
};
