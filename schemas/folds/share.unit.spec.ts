import { foldSpecification } from '../testing/decider-specification.js';
import { at, noon, shareEnded, someShare, statisticsShared } from '../testing/events.js';
import { evolveShare, type Share } from './share.js';
import { noSubject } from './subject-state.js';

const given = foldSpecification({ initialState: noSubject, evolve: evolveShare });

const share: Share = {
  ...someShare,
  status: 'shared',
  account: 'acme',
  createdAt: noon.toISOString(),
  sequence: 1,
  lastEventAt: noon,
};
const ended = { status: 'ended', account: 'acme', sequence: 2, lastEventAt: at(1) } as const;

describe('schemas: state of a share', () => {
  it('does not exist at first', () => {
    given().then({ status: 'none', sequence: 0, lastEventAt: new Date(0) });
  });

  it('has the terms of its creation', () => {
    given(statisticsShared('share-1')).then(share);
    const terms = { expiresAt: at(9).toISOString(), passwordHash: 'a-hash', showDestination: true };
    given(statisticsShared('share-1', terms)).then({ ...share, ...terms });
  });

  it('keeps only account and sequence after its end', () => {
    given(statisticsShared('share-1'), shareEnded('share-1', 2, { time: at(1) })).then(ended);
  });

  it('ignores an end of an unknown or ended share', () => {
    given(shareEnded('share-1', 2)).then(noSubject);
    given(
      statisticsShared('share-1'),
      shareEnded('share-1', 2, { time: at(1) }),
      shareEnded('share-1', 3, { time: at(2) }),
    ).then(ended);
  });
});
