import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Transform } from 'node:stream';
import { expect } from 'chai';
import { pino } from 'pino';
import { notify } from '../../test/support/notify.js';
import { startPooler, type Pooler } from '../../test/support/pooler.js';
import { launch, temporaryDir } from '../../test/support/process.js';
import { eventually, eventuallyPasses } from '../../test/support/waiting.js';
import { createLogger } from '../logging.js';
import { listenToPostgres, requireNotifications } from './listener.js';
import { databaseFixture } from '../../test/support/fixtures.js';
import { needs } from '../../test/support/needs.js';

/** Passes on PostgreSQL's messages whole, but no NotificationResponse while `isDeaf`. */
const deafen = (isDeaf: () => boolean): Transform => {
  const notification = 'A'.charCodeAt(0);
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
        const end = 1 + rest.readUInt32BE(1);
        if (rest[0] !== notification || !isDeaf()) this.push(rest.subarray(0, end));
        rest = rest.subarray(end);
      }
      done();
    },
  });
};

/** A relay before the database that can keep notifications, and nothing else, from its clients. */
const startDeafRelay = async (database: string) => {
  const { hostname, port } = new URL(database);
  let isDeaf = false;
  const relay = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream);
    upstream.pipe(deafen(() => isDeaf)).pipe(client);
    // A pipe passes on the end of a stream, and not a reset: PostgreSQL would keep the session.
    for (const socket of [client, upstream]) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        [client, upstream].forEach((end) => end.destroy());
      });
    }
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const url = new URL(database);
  url.port = String((relay.address() as AddressInfo).port);
  return {
    url: url.href,
    setDeaf(value: boolean) {
      isDeaf = value;
    },
    close: () => relay.close(),
  };
};

const logger = createLogger('silent');

describe('PostgreSQL: notifications', () => {
  const database = databaseFixture('listener');
  let pooler: Pooler | null = null;

  afterEach(async () => {
    await pooler?.stop();
    pooler = null;
  });

  after(async () => {
    // PostgreSQL may not have noticed the end of a pooler or relay yet, and drops no database in use.
    await eventuallyPasses(async () => {
      const { rows } = await database.pool.query(
        `SELECT pg_terminate_backend(pid), application_name, state, query FROM pg_stat_activity
         WHERE datname = current_database() AND application_name <> 'linklog test'`,
      );
      expect(rows).to.deep.equal([]);
    });
  });

  describe('through a pooler', () => {
    needs('pgbouncer');

    it('arrive from PostgreSQL itself, and through a pooler in session mode', async () => {
      await requireNotifications(database.url);
      pooler = await startPooler(database.url, 'session');
      await requireNotifications(pooler.url);
    });

    it('that do not arrive end the start with one line and exit code 78', async () => {
      pooler = await startPooler(database.url, 'transaction');
      const dataDir = await temporaryDir();
      const { exitCode, stdout, stderr } = await launch({
        DATABASE_URL: pooler.url,
        DATA_DIR: dataDir,
      }).ended;
      await rm(dataDir, { recursive: true });
      expect({ exitCode, stdout, stderr }).to.deep.equal({
        exitCode: 78,
        stdout: '',
        stderr:
          'linklog: DATABASE_URL: notifications (LISTEN, NOTIFY) do not arrive, as through a pooler in ' +
          'transaction mode: use its session mode, or connect to PostgreSQL directly\n',
      });
    });
  });

  /** Records the states and the payloads of a listener, which is closed after `work`. */
  const listening = async (
    work: (heard: readonly string[]) => Promise<void>,
    { url = database.url, log = logger, callback = (): void => undefined } = {},
  ): Promise<void> => {
    const listener = listenToPostgres(url, ['linklog_changes'], log);
    const heard: string[] = [];
    listener.onGap(callback);
    listener.onGap((state) => heard.push(state));
    listener.on('linklog_changes', callback);
    listener.on('linklog_changes', (payload) => heard.push(payload));
    try {
      await eventually('it listens', () => heard.at(-1) === 'back');
      await work(heard);
    } finally {
      await listener.close();
    }
  };

  it('arrive in order, also in large numbers', () =>
    listening(async (heard) => {
      const sent = Array.from({ length: 200 }, (_, index) => `${index}`);
      await notify(database.pool, 'linklog_changes', sent);
      await eventually('all arrive', () => heard.length > sent.length);
      expect(heard).to.deep.equal(['back', ...sent]);
    }));

  it('reach all callbacks, although one of them throws', async () => {
    const warnings: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => void warnings.push(line) });
    const callback = (): void => {
      throw new Error('this callback throws');
    };
    await listening(
      async (heard) => {
        await notify(database.pool, 'linklog_changes', ['one', 'two']);
        await eventually('both arrive', () => heard.includes('two'));
        expect(heard).to.deep.equal(['back', 'one', 'two']);
        expect(warnings).to.have.length(3);
      },
      { log, callback },
    );
  });

  it('that do not arrive any more make the connection count as lost', async () => {
    const relay = await startDeafRelay(database.url);
    try {
      await listening(
        async (heard) => {
          relay.setDeaf(true);
          await notify(database.pool, 'linklog_changes', ['missed']);
          await eventually('it is lost', () => heard.at(-1) === 'lost');
          relay.setDeaf(false);
          await eventually('it is back', () => heard.at(-1) === 'back');
          await notify(database.pool, 'linklog_changes', ['again']);
          await eventually('a notification arrives', () => heard.at(-1) === 'again');
          expect(heard).not.to.include('missed');
        },
        { url: relay.url },
      );
    } finally {
      relay.close();
    }
  });
});
