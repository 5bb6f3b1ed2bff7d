import { expect } from 'chai';
import pg from 'pg';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isConflict,
  isPoison,
  isRetryable,
  isStatementFault,
  isUnavailable,
  mayBeCausedByOneCommand,
  ownCodes,
  statusOf,
} from './error-codes.js';

const ofServer = (code: string): Error =>
  Object.assign(new pg.DatabaseError(code, 7, 'error'), { severity: 'ERROR', code });
const withCode = (code: string): Error => Object.assign(new Error(code), { code });
const withoutCode = (message: string): Error => new Error(message);

/** What callers do about an error. */
const questions = {
  unavailable: isUnavailable,
  'retried by transactions': isConflict,
  'retried later': isRetryable,
  'a dead letter': isPoison,
  'possibly caused by one command of a batch': mayBeCausedByOneCommand,
  503: (error: unknown) => statusOf(error) === 503,
  'a statement that does not match the tables': isStatementFault,
} as const;

type Question = `${keyof typeof questions}`;

const unavailable = ['unavailable', 'retried later', '503'] as const;
const ofOneCommand = 'possibly caused by one command of a batch';
const ofStatement = 'a statement that does not match the tables';

const cases: Readonly<
  Record<string, readonly [errors: readonly Error[], answers: readonly Question[]]>
> = {
  'PostgreSQL is unreachable or short of resources': [
    [
      ...['08000', '08003', '08006', '25006', '25P03', '53000', '53100', '53200', '53300', '53400'],
      ...['55P03', '57014', '57P01', '57P02', '57P03', '57P04', '57P05', '57PLG'],
    ].map(ofServer),
    unavailable,
  ],
  'a connection fails': [
    [
      ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EACCES'],
      ...['ERR_SOCKET_CLOSED', 'ERR_STREAM_DESTROYED', 'ERR_SSL_WRONG_VERSION_NUMBER'],
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ].map(withCode),
    unavailable,
  ],
  'the driver has no connection': [
    [
      'Connection terminated',
      'Connection terminated unexpectedly',
      'timeout exceeded when trying to connect',
      'Query read timeout',
      'Client has encountered a connection error and is not queryable',
    ].map(withoutCode),
    unavailable,
  ],
  'the tables have another generation': [
    ['3F000', '42703', '42883', '42P01'].map(ofServer),
    [...unavailable, ofStatement],
  ],
  'PostgreSQL is known to be silent': [[withCode('DATABASE_SILENT')], unavailable],
  'the identity provider is unavailable': [[withCode('PROVIDER_UNAVAILABLE')], unavailable],
  'transactions conflict': [
    ['40001', '40P01'].map(ofServer),
    [...unavailable, 'retried by transactions'],
  ],
  'an object is in the wrong state': [
    ['40000', '40002', '40003', '55000', '55006', '55P02', '57000'].map(ofServer),
    ['retried later', ofOneCommand],
  ],
  'a value is not accepted': [
    ['21000', '22001', '22P05', '23502', '23505', '54000', 'P0001'].map(ofServer),
    ['a dead letter', ofOneCommand],
  ],
  'the program and the database disagree': [
    ['25P02', '28P01', '3D000', '58030', 'XX000'].map(ofServer),
    [ofOneCommand],
  ],
  'a statement is wrong': [['42501', '42601'].map(ofServer), [ofOneCommand, ofStatement]],
  'the program throws': [
    [
      ...['ERR_HTTP_HEADERS_SENT', 'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE'].map(withCode),
      withoutCode('anything'),
      new TypeError('x is not a function'),
    ],
    ['a dead letter', ofOneCommand],
  ],
  'this process has no capacity': [
    ['OVERLOADED', 'DEADLINE_PASSED', 'SPOOL_FULL'].map(withCode),
    ['retried later', ofOneCommand, '503'],
  ],
  'another reader moved the checkpoint': [
    [withCode('BATCH_NOT_AT_CHECKPOINT')],
    ['retried later', ofOneCommand, '503'],
  ],
  'a file exists': [[withCode('FILE_EXISTS')], [ofOneCommand]],
  'an event is unreadable': [[withCode('UNREADABLE_EVENT')], ['a dead letter', ofOneCommand]],
  'the outcome of COMMIT is unknown': [[withCode('OUTCOME_UNKNOWN')], ['503']],
};

describe('platform: error codes', () => {
  for (const [what, [errors, answers]] of Object.entries(cases)) {
    it(`mean that ${what}: ${answers.join(', ')}`, () => {
      for (const error of errors) {
        const yes = Object.entries(questions).filter(([, ask]) => ask(error));
        expect(yes.map(([question]) => question)).to.have.members(answers, error.message);
      }
    });
  }

  it('returns false for a value that is not an error', () => {
    for (const value of ['ECONNREFUSED', undefined, null, { code: '40001' }]) {
      expect([isUnavailable(value), isPoison(value), isRetryable(value)]).to.deep.equal([
        ...[false, false, false],
      ]);
    }
  });

  it('contains the code of each error class, and no other', () => {
    const sources = ['command-api', 'ops', 'projectors', 'redirect-edge', 'schemas'].flatMap(
      (folder) =>
        readdirSync(folder, { recursive: true, encoding: 'utf8' })
          .map((file) => join(folder, file))
          .filter((path) => /(?<!\.spec|\.suite|error-codes|\.d)\.ts$/.test(path))
          .filter((path) => !/(\/testing\/|^ops\/test\/)/.test(path))
          .map((path) => readFileSync(path, 'utf8')),
    );
    const text = sources.join('\n');
    const stated = text.matchAll(/readonly code(?:: string)? = '(\w+)'/g);
    expect(Object.keys(ownCodes)).to.include.members([...stated].map(([, code]) => code));
    const words = new Set(text.match(/\b[A-Z_]{4,}\b/g));
    expect(Object.keys(ownCodes).filter((code) => !words.has(code))).to.deep.equal([]);
  });
});
