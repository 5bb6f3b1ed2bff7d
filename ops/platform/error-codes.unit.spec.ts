import { expect } from 'chai';
import pg from 'pg';
import { isTransient as isTransientInApi } from '../../command-api/http/app.js';
import { isPoison, isTransient } from '../../projectors/runtime/dead-letters.js';
import { isTransient as isTransientAtEdge } from '../../redirect-edge/redirect/handler.js';
import { SpoolUnavailable } from '../../redirect-edge/spool/appender.js';
import { Overloaded } from './concurrency/batcher.js';
import { DeadlinePassed } from './concurrency/deadline.js';
import { FileExists } from './files/new-file.js';
import { DatabaseSilent, isAway, isConflict } from './postgres/away.js';
import { mayBlameOne, OutcomeUnknown } from './postgres/pool.js';

const ofServer = (code: string): Error =>
  Object.assign(new pg.DatabaseError('refused', 7, 'error'), { severity: 'ERROR', code });
const withCode = (code: string): Error => Object.assign(new Error('failed'), { code });
const withoutCode = (message: string): Error => new Error(message);

/** What callers do about an error. */
const questions = {
  unavailable: isAway,
  'retried by transactions': isConflict,
  'retried by projections': isTransient,
  'a dead letter': isPoison,
  'possibly caused by one command of a batch': mayBlameOne,
  '503 at the edge': isTransientAtEdge,
  '503 of the API': isTransientInApi,
} as const;

type Question = keyof typeof questions;

const is503 = ['503 at the edge', '503 of the API'] as const;
const unavailable = ['unavailable', 'retried by projections', ...is503] as const;
const ofOneCommand = 'possibly caused by one command of a batch';

const cases: readonly (readonly [
  what: string,
  errors: readonly Error[],
  answers: readonly Question[],
])[] = [
  [
    'PostgreSQL is unreachable or short of resources',
    [
      ...['08000', '08003', '08006', '25006', '25P03', '53000', '53100', '53200', '53300', '53400'],
      ...['55P03', '57014', '57P01', '57P02', '57P03', '57P04', '57P05'],
    ].map(ofServer),
    unavailable,
  ],
  [
    'a connection fails',
    [
      ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EACCES'],
      ...['ERR_SOCKET_CLOSED', 'ERR_STREAM_DESTROYED', 'ERR_SSL_WRONG_VERSION_NUMBER'],
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ].map(withCode),
    unavailable,
  ],
  [
    'the driver has no connection',
    [
      'Connection terminated',
      'Connection terminated unexpectedly',
      'timeout exceeded when trying to connect',
      'Query read timeout',
      'Client has encountered a connection error and is not queryable',
    ].map(withoutCode),
    unavailable,
  ],
  ['PostgreSQL is known to be silent', [new DatabaseSilent()], unavailable],
  [
    'transactions conflict',
    ['40001', '40P01'].map(ofServer),
    [...unavailable, 'retried by transactions'],
  ],
  [
    'an object is in the wrong state',
    ['40000', '40002', '40003', '55000', '55006', '55P02', '57000'].map(ofServer),
    ['retried by projections', ofOneCommand],
  ],
  [
    'a value is not accepted',
    ['21000', '22001', '22P05', '23502', '23505', '54000', 'P0001'].map(ofServer),
    ['a dead letter', ofOneCommand],
  ],
  [
    'the program and the database disagree',
    ['25P02', '28P01', '3D000', '42501', '42P01', '58030', 'XX000'].map(ofServer),
    [ofOneCommand],
  ],
  [
    'the program throws',
    [
      ...['ERR_HTTP_HEADERS_SENT', 'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE'].map(withCode),
      withoutCode('anything'),
      new TypeError('x is not a function'),
    ],
    ['a dead letter', ofOneCommand],
  ],
  [
    'COMMIT has no answer',
    [new OutcomeUnknown()],
    ['retried by projections', 'a dead letter', ...is503],
  ],
];

describe('platform: error codes', () => {
  for (const [what, errors, answers] of cases) {
    for (const error of errors) {
      const { code = error.message } = error as { readonly code?: string };
      it(`${code}: ${what}`, () => {
        const yes = Object.entries(questions).filter(([, ask]) => ask(error));
        expect(yes.map(([question]) => question)).to.have.members(answers);
      });
    }
  }

  it('answers 503 where this process has no capacity', () => {
    for (const error of [new Overloaded(1), new DeadlinePassed(1)]) {
      expect([isTransientAtEdge(error), isTransientInApi(error)]).to.deep.equal([true, true]);
      expect([isAway(error), mayBlameOne(error), isTransient(error)]).to.deep.equal([
        ...[false, true, false],
      ]);
    }
    expect(isTransientAtEdge(new SpoolUnavailable('SPOOL_FULL', 'full'))).to.equal(true);
    expect(isTransientAtEdge(new FileExists('name'))).to.equal(false);
  });

  it('has no answer for a value that is no error', () => {
    for (const value of ['ECONNREFUSED', undefined, null, { code: '40001' }]) {
      expect([isAway(value), isPoison(value), isTransient(value)]).to.deep.equal([
        ...[false, false, false],
      ]);
    }
  });
});
