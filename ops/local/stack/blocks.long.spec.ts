import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest, type HttpResponse } from '../../test/support/http.js';
import { issueKey } from '../../test/support/product.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { startStackProcess } from '../../test/support/stack.js';
import { fixture } from '../../test/support/fixture.js';

const rounds = 10;

describe('local servers: blocks on the stack', function () {
  this.timeout(kafkaStartMs + 180_000);

  const stack = fixture(
    () => startStackProcess(),
    (stack) => stack.stop(),
  );
  let key: string;

  before(async () => {
    ({ key } = await issueKey(stack, { plan: 'PRO' }));
  });

  const createLink = async (): Promise<string> => {
    const create = (): Promise<HttpResponse> =>
      sendRequest(`${stack.apis[0] ?? ''}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}` },
        body: { url: 'https://example.com/' },
      });
    let response = await create();
    // A process that was stopped before may not have resumed yet.
    const deadline = performance.now() + 20_000;
    while (response.status === 503 && performance.now() < deadline) {
      await sleep(100);
      response = await create();
    }
    expect(response.status, response.text).to.equal(201);
    return (response.json() as { shortCode: string }).shortCode;
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

  /** Blocks cached and uncached links, and visits each one second later. */
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

  const createLinks = async (): Promise<string[]> => {
    const codes: string[] = [];
    while (codes.length < rounds) codes.push(await createLink());
    return codes;
  };

  it('reach every edge within a second while Kafka is stopped', async () => {
    const codes = await createLinks();
    await whileStopped(stack.pids.kafka, () => blockAll(codes, 202));
  });

  it('reach every edge within a second while the projectors are stopped', async () => {
    const known = await createLinks();
    await whileStopped(stack.pids.projector, async () => {
      const unseen = await createLinks();
      await blockAll([...known, ...unseen], 200);
    });
  });
});
