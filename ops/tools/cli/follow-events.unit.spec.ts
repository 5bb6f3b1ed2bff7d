import { expect } from 'chai';
import type { Message } from '../../clients/typescript/src/lines.js';
import { rejection } from '../../test/support/waiting.js';
import { CliError } from './errors.js';
import { followEvents, type FeedEvent } from './follow-events.js';

const eventOf = (id: string): FeedEvent => ({
  ...{ specversion: '1.0', id, type: 'linklog.LinkEnabled.v1', source: '/linklog/ledger' },
  ...{ subject: 'spring', time: '2026-05-20T12:00:00.000Z', sequence: '1', data: {} },
  datacontenttype: 'application/json',
});

const message = (id: string): Message => ({
  ...{ id: `after ${id}`, event: 'message', data: JSON.stringify(eventOf(id)) },
});

/** The messages of one connection; an error: it is lost or refused. */
type Connection = readonly (Message | CliError)[] | CliError;

async function* messagesOf(connection: Exclude<Connection, CliError>) {
  for (const next of connection) {
    if (next instanceof CliError) throw next;
    yield await Promise.resolve(next);
  }
}

const lost = new CliError('BAD_RESPONSE', 'the connection failed');
const absent = new CliError('NO_SERVICE', 'no service listens');
const unavailable = new CliError('UNAVAILABLE', 'the history is rebuilt');
const refused = new CliError('REFUSED', 'The cursor belongs to another log');

describe('CLI: events over several connections', () => {
  /** Follows until the connections end, which must be with a refusal. */
  const follow = async (after: string, connections: Connection[]) => {
    const [ids, requested, notices]: string[][] = [[], [], []];
    let cursor = after;
    const steps = followEvents({
      connect: () =>
        Promise.resolve({
          readEvents: () => Promise.resolve({ events: [eventOf('0')], next: 'after 0' }),
          openEvents(query) {
            requested?.push(query.after);
            const connection = connections.shift() ?? refused;
            return connection instanceof CliError
              ? Promise.reject(connection)
              : Promise.resolve(messagesOf(connection));
          },
        }),
      query: { account: 'shop', types: undefined, after },
      report: (notice) => notices?.push(notice),
      signal: new AbortController().signal,
      reopenMs: 0,
      pauses: { firstMs: 0, longestMs: 0 },
    });
    const read = async (): Promise<void> => {
      for await (const step of steps) {
        if (step.event) ids?.push(step.event.id);
        ({ cursor } = step);
      }
    };
    expect(await rejection(read())).to.equal(refused);
    return { ids, requested, notices, cursor };
  };

  it('continue at the last cursor, also after a position without an event', async () => {
    const position = { event: 'position', id: 'later', data: '{}' };
    expect(await follow('start', [[message('1'), position], [message('2')]])).to.deep.equal({
      ids: ['1', '2'],
      requested: ['start', 'later', 'after 2'],
      notices: [],
      cursor: 'after 2',
    });
  });

  it('replace `now` by a cursor before the first connection', async () => {
    expect(await follow('now', [[lost], [message('1')]])).to.deep.equal({
      ids: ['0', '1'],
      requested: ['after 0', 'after 0', 'after 1'],
      notices: ['the connection failed; trying again'],
      cursor: 'after 1',
    });
  });

  it('report an interruption once, until a message arrives', async () => {
    const interrupted = [[lost], absent, unavailable, [lost], [message('1'), lost]];
    const { requested, notices } = await follow('start', [[], ...interrupted, absent]);
    expect(requested).to.have.length(8);
    expect(notices).to.deep.equal([
      'the connection failed; trying again',
      'the connection failed; trying again',
    ]);
  });

  it('end if the first connection fails', async () => {
    const { requested } = await follow('start', [refused, []]);
    expect(requested).to.deep.equal(['start']);
  });
});
