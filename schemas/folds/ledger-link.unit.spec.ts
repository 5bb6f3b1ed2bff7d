import { foldSpecification } from '../testing/decider-specification.js';
import { at, blocked, created, expired, noon, unblocked, visited } from '../testing/events.js';
import { evolveLedgerLink, freeCode, type LedgerLink } from './ledger-link.js';

const given = foldSpecification({ initialState: freeCode, evolve: evolveLedgerLink });

const made = created(
  'spring',
  { expiresAt: at(60).toISOString(), maxClicks: 3, keyId: 'key-7' },
  { account: 'acme' },
);
const taken: LedgerLink = {
  status: 'taken',
  code: 'spring',
  keyId: 'key-7',
  account: 'acme',
  expired: null,
  blocked: false,
  cleared: false,
  expiresAt: at(60),
  maxClicks: 3,
  clicks: 0,
  sequence: 1,
  lastEventAt: noon,
};

describe('schemas: link in the ledger', () => {
  it('is taken by LinkCreated', () => {
    given(made).then(taken);
  });

  it('has no limits where none were asked for, and an account even where none is told', () => {
    given(created('plain')).then({
      ...taken,
      code: 'plain',
      keyId: 'key-1',
      account: 'default',
      expiresAt: null,
      maxClicks: null,
    });
  });

  it('counts the clicks by their number, and leaves the sequence of link events alone', () => {
    given(made, visited('spring', 1, { time: at(1) }))
      .when(visited('spring', 2, { time: at(2) }))
      .then({ ...taken, clicks: 2, lastEventAt: at(2) });
  });

  it('is not counted down by visits without a number', () => {
    given(made, visited('spring', 1, { time: at(1) }))
      .when(visited('spring', null, { time: at(2) }))
      .then({ ...taken, clicks: 1, lastEventAt: at(2) });
  });

  it('remembers why it expired, and whether it is blocked, apart from each other', () => {
    const history = [
      made,
      blocked('spring', 2, { time: at(1) }),
      expired('spring', 3, 'clicks', { time: at(2) }),
    ];
    const beneath = { ...taken, expired: 'clicks' as const, sequence: 3, lastEventAt: at(2) };
    given(...history).then({ ...beneath, blocked: true });
    given(...history)
      .when(unblocked('spring', 4, { time: at(3) }))
      .then({ ...beneath, cleared: true, sequence: 4, lastEventAt: at(3) });
  });

  it('remembers that a block was lifted once, whatever blocks it again', () => {
    given(made, blocked('spring', 2), unblocked('spring', 3))
      .when(blocked('spring', 4, { time: at(4) }))
      .then({ ...taken, blocked: true, cleared: true, sequence: 4, lastEventAt: at(4) });
  });

  it('cannot change before it is taken', () => {
    const early = [visited('a', 1), expired('a', 1), blocked('a', 1), unblocked('a', 1)];
    for (const event of early)
      given()
        .when(event)
        .thenThrows(/nobody took/);
  });
});
