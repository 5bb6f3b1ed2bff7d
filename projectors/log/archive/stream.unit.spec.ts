import { expect } from 'chai';
import {
  ArchiveForeign,
  type ArchivedEvent,
  type ArchiveFailure,
  type AppendOutcome,
  type StreamMetadata,
} from './store.js';
import { archiveStream } from './stream.js';

/** The events of an append at revision 2. The id of revision 0 is `a`; a capital letter is another event. */
const first = 2;
const events = ['c', 'd', 'e'].map((id): ArchivedEvent => ({
  ...{ id, type: 'test', data: {}, metadata: {} },
}));
const revisionOf = (id: string): number => id.toLowerCase().charCodeAt(0) - 97;

const appended = (last: number): AppendOutcome => ({ type: 'appended', last });
const conflict = (last: number): AppendOutcome => ({ type: 'conflict', last });
const softDeleted = JSON.parse('{"$tb":9223372036854775807}') as StreamMetadata;

interface Server {
  /** The outcomes of the appends, in order. */
  readonly outcomes: readonly AppendOutcome[];
  /** The visible events; `null`: a tombstone. */
  readonly found?: string | null;
  readonly metadata?: StreamMetadata;
}

/** Archives the events. Returns the outcome, or the failure, and the appends. */
const archive = async ({ outcomes, found = '', metadata = {} }: Server, due = events) => {
  const appends: string[] = [];
  const left = [...outcomes];
  const store = {
    append(_stream: string, revision: number, portion: readonly ArchivedEvent[]) {
      appends.push(`${portion.map(({ id }) => id).join('')}@${revision}`);
      const outcome = left.shift();
      if (!outcome) throw new Error('an append has no outcome');
      return Promise.resolve(outcome);
    },
    read: () =>
      Promise.resolve(
        found === null
          ? null
          : Array.from(found, (id) => ({
              ...{ id, revision: revisionOf(id), stream: 's', position: undefined },
              ...{ type: 'test', data: {}, metadata: {} },
            })),
      ),
    metadata: () => Promise.resolve(metadata),
    probe: () => Promise.reject(new Error('the end is read only if the events may exist')),
  };
  const outcome = await archiveStream(store, 's', first, due, false).catch((error: unknown) => {
    const { code } = error as ArchiveFailure;
    const { revision, id } = error instanceof ArchiveForeign ? error : {};
    return { code, ...(id !== undefined && { revision, id }) };
  });
  return { outcome, appends };
};

describe('archive: a stream', () => {
  const archived = (removed = 0) => ({ archived: 3, removed, rejected: null });
  const foreign = (revision: number, id: string) => ({ code: 'ARCHIVE_FOREIGN', revision, id });

  const cases: readonly (readonly [
    title: string,
    server: Server,
    outcome: object,
    ...appends: readonly string[],
  ])[] = [
    ['gets events', { outcomes: [appended(4)] }, archived()],
    ['that was deleted before is foreign', { outcomes: [appended(9)] }, foreign(9, 'e')],
    ['with a tombstone lacks all events', { outcomes: [{ type: 'deleted' }] }, archived(3)],
    [
      'gets the parts of a rejected call, up to the rejected event',
      {
        outcomes: [
          { type: 'rejected', message: 'large' },
          { type: 'rejected', message: 'large' },
          appended(2),
          { type: 'rejected', message: 'large' },
        ],
      },
      { archived: 1, removed: 0, rejected: 'large' },
      ...['cd@2', 'c@2', 'd@3'],
    ],
    ['without the event before is cut', { outcomes: [conflict(0)] }, { code: 'ARCHIVE_CUT' }],
    ['that is missing is cut', { outcomes: [conflict(-1)] }, { code: 'ARCHIVE_CUT' }],
    [
      'is tried again if the leader has changed',
      { outcomes: [conflict(1)] },
      { code: 'UNAVAILABLE' },
    ],
    ['has some events', { outcomes: [conflict(3), appended(4)], found: 'cd' }, archived(), 'e@4'],
    ['got events meanwhile', { outcomes: [conflict(3)], found: 'cde' }, archived()],
    ['has an event of another log', { outcomes: [conflict(4)], found: 'cDe' }, foreign(3, 'D')],
    ['is truncated', { outcomes: [conflict(4)], found: 'de' }, archived(1)],
    ['is truncated after the events', { outcomes: [conflict(7)], found: 'ghi' }, archived(3)],
    ['got a tombstone meanwhile', { outcomes: [conflict(4)], found: null }, archived(3)],
    [
      'is soft-deleted, and goes on after its end',
      { outcomes: [conflict(3), appended(4)], metadata: softDeleted },
      archived(2),
      'e@4',
    ],
    [
      'recognizes the last hidden event',
      { outcomes: [conflict(3), appended(3), appended(4)] },
      archived(2),
      ...['d@3', 'e@4'],
    ],
    [
      'recognizes a hidden event after visible ones',
      { outcomes: [conflict(4), appended(4)], found: 'c' },
      archived(2),
      'e@4',
    ],
    ['was scavenged', { outcomes: [conflict(9), conflict(9)] }, archived(3), 'e@4'],
    [
      'lost events before their commit, and is tried again',
      { outcomes: [conflict(4), conflict(1)] },
      { code: 'UNAVAILABLE' },
      'e@4',
    ],
  ];
  for (const [title, server, outcome, ...appends] of cases) {
    it(title, async () => {
      expect(await archive(server)).to.deep.equal({ outcome, appends: ['cde@2', ...appends] });
    });
  }
});
