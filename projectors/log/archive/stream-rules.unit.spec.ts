import { expect } from 'chai';
import { ArchiveForeign, type AppendOutcome, type StreamMetadata } from './store.js';
import { nextStep, type Step, type StreamView } from './stream-rules.js';

/** The events of an append at revision 2. */
const [first, ids] = [2, ['c', 'd', 'e']] as const;

const appended = (last: number): AppendOutcome => ({ type: 'appended', last });
const conflict = (last: number): AppendOutcome => ({ type: 'conflict', last });
const softDeleted = JSON.parse('{"$tb":9223372036854775807}') as StreamMetadata;

/** Reduces an error to its code, and to the event of another log. */
const plain = (step: Step): object => {
  if (step.type !== 'fail') return step;
  const { code } = step.error;
  const event = step.error instanceof ArchiveForeign && {
    ...{ revision: step.error.revision, id: step.error.id },
  };
  return { type: 'fail', error: { code, ...event } };
};

const view = (found: string | null, other: Partial<StreamView> = {}): StreamView => ({
  /** The id of revision 0 is `a`; a capital letter is another event. */
  found:
    found === null
      ? null
      : Array.from(found, (id) => ({ revision: id.toLowerCase().charCodeAt(0) - 97, id })),
  metadata: {},
  ...other,
});

describe('archive: rules of a stream', () => {
  const fails = (code: string) => ({ type: 'fail', error: { code } });
  const foreign = (revision: number, id: string) => ({
    ...{ type: 'fail', error: { code: 'ARCHIVE_FOREIGN', revision, id } },
  });
  const advance = (count: number, removed = 0) => ({ type: 'advance', count, removed });

  const cases: readonly (readonly [string, AppendOutcome, StreamView | undefined, object])[] = [
    ['advances past appended events', appended(4), undefined, advance(3)],
    ['refuses a stream that was deleted before', appended(9), undefined, foreign(9, 'e')],
    [
      'counts events of a tombstoned stream as removed',
      { type: 'deleted' },
      undefined,
      advance(3, 3),
    ],
    [
      'splits a rejected call',
      { type: 'rejected', message: 'large' },
      undefined,
      { type: 'split' },
    ],
    ['reports a stream without the event before', conflict(0), undefined, fails('ARCHIVE_CUT')],
    ['reports a missing stream', conflict(-1), undefined, fails('ARCHIVE_CUT')],
    ['retries if the leader has changed', conflict(1), undefined, fails('UNAVAILABLE')],
    ['skips events that are there', conflict(3), view('cd'), advance(2)],
    ['skips events that were appended meanwhile', conflict(3), view('cde'), advance(3)],
    ['finds an event of another log', conflict(4), view('cDe'), foreign(3, 'D')],
    ['skips truncated events', conflict(4), view('de'), advance(3, 1)],
    ['skips events before the first visible one', conflict(7), view('ghi'), advance(3, 3)],
    ['skips events of a tombstone', conflict(4), view(null), advance(3, 3)],
    [
      'skips events of a soft-deleted stream up to its end',
      conflict(3),
      view('', { metadata: softDeleted }),
      advance(2, 2),
    ],
    ['repeats the last invisible event', conflict(3), view(''), { type: 'repeat', index: 1 }],
    ['repeats an event after visible ones', conflict(4), view('c'), { type: 'repeat', index: 2 }],
    [
      'skips events that the server recognizes',
      conflict(3),
      view('', { repeated: appended(3) }),
      advance(2, 2),
    ],
    ['skips scavenged events', conflict(9), view('', { repeated: conflict(9) }), advance(3, 3)],
    [
      'retries if the events were lost before their commit',
      conflict(4),
      view('', { repeated: conflict(1) }),
      fails('UNAVAILABLE'),
    ],
  ];
  for (const [title, outcome, seen, expected] of cases) {
    it(title, () => {
      expect(plain(nextStep('s', first, ids, outcome, seen))).to.deep.equal(expected);
    });
  }

  it('rejects a single event', () => {
    expect(nextStep('s', 0, ['a'], { type: 'rejected', message: 'large' })).to.deep.equal({
      ...{ type: 'reject', message: 'large' },
    });
  });
});
