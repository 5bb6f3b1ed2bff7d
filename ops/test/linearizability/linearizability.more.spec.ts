import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { kafkaStartMs } from '../support/kafka.js';
import { folderFixture } from '../support/fixtures.js';
import { needs } from '../support/needs.js';
import { stackPrograms } from '../support/stack.js';
import { buildChecker, startChecker, type Verdict } from './checker.js';
import { kindNames } from './objects.js';
import { runAndCheck } from './run.js';

const ms = 1e6;

type Output = Readonly<Record<string, string | number>> | null;

/** An operation of 9 ms; without an output, it is unanswered. */
const operation = (callMs: number, input: object, output: Output = null) => ({
  ...{ input, output, call: callMs * ms },
  return: output === null ? null : (callMs + 9) * ms,
});

type Operation = ReturnType<typeof operation>;

const create = (call: number, url: string, output: Output = { status: 201 }) =>
  operation(call, { op: 'create', url }, output);
const taken = { status: 400, message: 'Alias is already taken' };
const visit = (call: number, status: number, url = '') =>
  operation(call, { op: 'visit' }, { status, url });
const end = (call: number, output: Output = { status: 204 }) =>
  operation(call, { op: 'delete' }, output);
const limited = (maxClicks: number) => operation(0, { op: 'create', maxClicks }, { status: 201 });
const setLimit = (call: number, maxClicks: number) =>
  operation(call, { op: 'patch', maxClicks }, { status: 200 });
const left = (call: number, maxClicks: number, clicksLeft: number) =>
  operation(call, { op: 'get' }, { status: 200, maxClicks, clicksLeft });
const setUrl = (call: number, url: string, version: number, ifMatch = 0) =>
  operation(call, { op: 'patch', url, ifMatch }, { status: 200, url, version });
const refused = (call: number, ifMatch: number) =>
  operation(call, { op: 'patch', url: 'c', ifMatch }, { status: 412 });
const link = (call: number, status = 201) =>
  operation(call, { op: 'create', limit: 2 }, { status, message: 'Monthly link limit reached.' });
const usage = (call: number, used: number) =>
  operation(call, { op: 'usage' }, { status: 200, used });

interface Recorded {
  readonly kind: string;
  readonly input: { readonly op: string };
  readonly output: { readonly status: number } | null;
}

/** Histories of one key, by their description. */
type Histories = Readonly<Record<string, readonly Operation[]>>;

const accepted: Readonly<Record<string, Histories>> = {
  alias: {
    'one of two concurrent creations succeeds': [create(0, 'a'), create(1, 'b', taken)],
    'an unanswered creation takes effect later': [
      create(0, 'a', null),
      visit(10, 404),
      visit(5_000, 302, 'a'),
    ],
    'an unanswered deletion never takes effect': [
      create(0, 'a'),
      end(20, null),
      visit(9_000, 302, 'a'),
    ],
    'an edge redirects for 1 s after the deletion': [
      create(0, 'a'),
      end(20),
      visit(1_025, 302, 'a'),
    ],
  },
  limit: {
    'the last click is taken once': [limited(1), visit(10, 302), visit(11, 410), left(30, 1, 0)],
    'an unanswered visit takes the click': [
      limited(1),
      operation(10, { op: 'visit' }),
      visit(20, 410),
    ],
    'an edge refuses for 1 s after the limit was raised': [
      limited(1),
      visit(10, 302),
      setLimit(20, 2),
      visit(900, 410),
      visit(920, 302),
    ],
    'every click is counted': [limited(2), visit(10, 302), left(11, 2, 2), left(30, 2, 1)],
  },
  destination: {
    'the later of two changes remains': [
      create(0, 'a'),
      setUrl(10, 'b', 3),
      setUrl(11, 'c', 2),
      visit(1_500, 302, 'b'),
    ],
    'a change of another version is refused': [
      create(0, 'a'),
      setUrl(10, 'b', 2, 1),
      refused(20, 1),
    ],
  },
  quota: { 'a key creates its links': [link(0), link(1), link(2, 429), usage(20, 2)] },
};

const rejected: Readonly<Record<string, Histories>> = {
  alias: {
    'an alias is given twice': [create(0, 'a'), create(1, 'b')],
    'a deleted alias is given again': [create(0, 'a'), end(20), create(40, 'b')],
    'a created link is not found': [create(0, 'a'), visit(10, 404)],
    'an edge redirects more than 1 s after the deletion': [
      create(0, 'a'),
      end(20),
      visit(1_040, 302, 'a'),
    ],
    'a request fails': [create(0, 'a'), visit(10, 500)],
  },
  limit: {
    'two visits take the last click': [limited(1), visit(10, 302), visit(11, 302)],
    'a visit takes two clicks': [limited(2), visit(10, 302), visit(20, 410)],
    'a click is not counted': [limited(2), visit(10, 302), left(30, 2, 2)],
    'an edge refuses more than 1 s after the limit was raised': [
      limited(1),
      visit(10, 302),
      setLimit(20, 2),
      visit(1_040, 410),
    ],
    'the limit is below the clicks': [limited(3), visit(10, 302), visit(20, 302), setLimit(30, 1)],
  },
  destination: {
    'an update is lost': [create(0, 'a'), setUrl(10, 'b', 2), setUrl(11, 'c', 2)],
    'two changes of one version are accepted': [
      create(0, 'a'),
      setUrl(10, 'b', 2, 1),
      setUrl(20, 'c', 3, 1),
    ],
    'an edge serves the old destination after more than 1 s': [
      create(0, 'a'),
      setUrl(10, 'b', 2),
      visit(1_030, 302, 'a'),
    ],
  },
  quota: {
    'a key creates more than its links': [link(0), link(1), link(2)],
    'a link is refused too early': [link(0), link(10, 429)],
    'a link is not in the usage': [link(0), usage(10, 0)],
  },
};

describe('linearizability', () => {
  needs('go');
  const folder = folderFixture();
  let program: string;
  before('build the checker', async () => {
    program = await buildChecker(folder.path);
  });

  const check = async (lines: readonly object[]): Promise<Verdict> => {
    const checker = startChecker(program, folder.path);
    checker.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    checker.end();
    return checker.verdict;
  };
  const describeHistories = (
    kindsOf: Readonly<Record<string, Histories>>,
    verb: string,
    exitCode: number,
  ): void => {
    for (const [kind, histories] of Object.entries(kindsOf)) {
      for (const [title, operations] of Object.entries(histories)) {
        it(`${verb} a history of a key (${kind}) in which ${title}`, async () => {
          const verdict = await check(operations.map((line) => ({ kind, key: 'a', ...line })));
          expect(verdict.exitCode, verdict.report).to.equal(exitCode);
        });
      }
    }
  };
  describeHistories(accepted, 'accepts', 0);
  describeHistories(rejected, 'rejects', 1);

  it('accepts an older redirect of an edge that may be cut off from PostgreSQL', async () => {
    const history = [create(0, 'a'), end(1_000), visit(4_000, 302, 'a')];
    const lines = history.map((line) => ({ kind: 'alias', key: 'a', ...line }));
    const cut = { kind: 'cut', call: 500 * ms };
    expect((await check([cut, ...lines])).exitCode).to.equal(0);
    expect((await check([cut, { ...cut, return: 3_000 * ms }, ...lines])).exitCode).to.equal(1);
  });

  /** Every kind of operation with each of its usual outcomes. */
  const outcomes = [
    ...['alias create 201', 'alias create 400', 'alias delete 204', 'alias get 200'],
    ...['alias visit 302', 'alias visit 404', 'alias visit 410'],
    ...['limit create 201', 'limit get 200', 'limit patch 200', 'limit patch 400'],
    ...['limit visit 302', 'limit visit 410'],
    ...['destination create 201', 'destination get 200', 'destination patch 200'],
    ...['destination patch 412', 'destination visit 302'],
    ...['quota create 201', 'quota create 429', 'quota usage 200'],
  ];
  /** On a busy machine, one run has too few operations for every outcome. */
  const maxRuns = 5;

  /** Checks runs of 60 s until they have had every outcome. */
  const expectLinearizable = async (brokers: number): Promise<void> => {
    const seen = new Set<string>();
    for (let run = 0; run < maxRuns && !outcomes.every((outcome) => seen.has(outcome)); run += 1) {
      const seed = randomInt(1, 2 ** 31);
      const results = path.join(folder.path, `${brokers}-${run}`);
      const verdict = await runAndCheck({
        ...{ brokers, faults: 1_000, hasStandby: false, seconds: 60, seed, kinds: kindNames },
        folder: results,
      });
      expect(verdict.exitCode, `seed ${seed}: ${verdict.report}`).to.equal(0);
      const history = await readFile(path.join(results, 'history.jsonl'), 'utf8');
      for (const line of history.trimEnd().split('\n')) {
        const { kind, input, output } = JSON.parse(line) as Partial<Recorded>;
        seen.add(`${kind} ${input?.op} ${output?.status}`);
      }
    }
    expect([...seen]).to.include.members(outcomes);
  };

  it('of the embedded product, killed with -9', async function () {
    this.timeout(maxRuns * 180_000);
    await expectLinearizable(0);
  });

  describe('of the stack', () => {
    needs(...stackPrograms);

    it('with a broker, whose parts are killed, paused and cut off', async function () {
      this.timeout(maxRuns * (kafkaStartMs + 180_000));
      await expectLinearizable(1);
    });
  });
});
