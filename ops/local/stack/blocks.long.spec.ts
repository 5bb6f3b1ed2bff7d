import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest, type HttpResponse } from '../../test/support/http.js';
import { issueKey } from '../../test/support/product.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { startStackProcess } from '../../test/support/stack.js';
import { fixture } from '../../test/support/fixture.js';

const rounds = 10;

/** A phishing link must be blocked now, whatever else has stopped. */
describe('local servers: block on the stack', function () {
  this.timeout(kafkaStartMs + 180_000);

  const stack = fixture(
    () => startStackProcess(),
    (stack) => stack.stop(),
  );
  let key: string;

  before(async () => {
    ({ key } = await issueKey(stack, { plan: 'PRO' }));
  });

  const makeLink = async (): Promise<string> => {
    const make = (): Promise<HttpResponse> =>
      sendRequest(`${stack.apis[0] ?? ''}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}` },
        body: { url: 'https://example.com/' },
      });
    let made = await make();
    // What was stopped before may be about to come back, or another one about to take over from it.
    const deadline = performance.now() + 20_000;
    while (made.status === 503 && performance.now() < deadline) {
      await sleep(100);
      made = await make();
    }
    expect(made.status, made.text).to.equal(201);
    return (made.json() as { shortCode: string }).shortCode;
  };

  const visit = async (code: string): Promise<number[]> => {
    const answers = await Promise.all(stack.edges.map((edge) => sendRequest(`${edge}/${code}`)));
    return answers.map(({ status }) => status);
  };

  const block = (code: string): Promise<HttpResponse> =>
    sendRequest(`${stack.admin}/admin/links/${code}/block`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${stack.adminToken}` },
      body: { reason: 'phishing' },
    });

  /** Blocks warm links and cold ones, and looks a second after each was asked for. */
  const blockAll = async (codes: readonly string[], status: number): Promise<void> => {
    for (const [index, code] of codes.entries()) {
      if (index % 2 === 0) expect(await visit(code)).to.deep.equal([302, 302]);
      const [answer, seen] = await Promise.all([block(code), sleep(1_000).then(() => visit(code))]);
      expect(answer.status, answer.text).to.equal(status);
      expect(seen, `link ${index}`).to.deep.equal([410, 410]);
    }
  };

  const whileStopped = async (
    pids: readonly number[],
    work: () => Promise<void>,
  ): Promise<void> => {
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      await work();
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
  };

  const makeLinks = async (): Promise<string[]> => {
    const codes: string[] = [];
    while (codes.length < rounds) codes.push(await makeLink());
    return codes;
  };

  it('is heard by every edge within a second while Kafka is stopped', async () => {
    const codes = await makeLinks();
    await whileStopped(stack.pids.kafka, () => blockAll(codes, 202));
  });

  it('and while the projectors are stopped, for links that they never saw too', async () => {
    const known = await makeLinks();
    await whileStopped(stack.pids.projector, async () => {
      const unseen = await makeLinks();
      await blockAll([...known, ...unseen], 200);
    });
  });
});
