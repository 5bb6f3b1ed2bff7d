import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectionNames } from '../../../projectors/runtime/projection.js';
import { sendRequest } from '../../test/support/http.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { issueKey } from '../../test/support/product.js';
import { startStackProcess } from '../../test/support/stack.js';
import { eventually } from '../../test/support/waiting.js';
import { startLinklogCli } from '../../test/support/process.js';
import { fixture } from '../../test/support/fixture.js';

const rounds = 3;
const links = 10;
const visitors = 4;

describe('local servers: rebuilds of projections from Kafka under load', function () {
  this.timeout(kafkaStartMs + 180_000);

  const stack = fixture(
    () => startStackProcess(),
    (stack) => stack.stop(),
  );
  let headers: Record<string, string>;

  before(async () => {
    const { key } = await issueKey(stack, { plan: 'PRO' });
    headers = { Authorization: `Bearer ${key}` };
  });

  const createLink = async (): Promise<string> => {
    const response = await sendRequest(`${stack.apis[0] ?? ''}/v2/shorten`, {
      method: 'POST',
      headers,
      body: { url: 'https://example.com/' },
    });
    expect(response.status, response.text).to.equal(201);
    return (response.json() as { shortCode: string }).shortCode;
  };

  const clicksAt = async (api: string, code: string): Promise<number> => {
    const answer = await sendRequest(`${api}/v2/stats/${code}`, { headers });
    expect(answer.status, answer.text).to.equal(200);
    return (answer.json() as { clickCount: number }).clickCount;
  };

  it('keep counts monotonic, and lose no visit', async () => {
    const codes: string[] = [];
    while (codes.length < links) codes.push(await createLink());
    const visits = new Map(codes.map((code) => [code, { requests: 0, redirects: 0 }]));
    const rebuilding = new AbortController();
    const isOver = (): boolean => rebuilding.signal.aborted;

    const visit = async (number: number): Promise<void> => {
      for (let visit = number; !isOver(); visit += 1) {
        const code = codes[visit % links] ?? '';
        const count = visits.get(code);
        if (!count) throw new Error(`${code} has no count`);
        count.requests += 1;
        const { status } = await sendRequest(
          `${stack.edges[visit % stack.edges.length] ?? ''}/${code}`,
        );
        expect(status, code).to.equal(302);
        count.redirects += 1;
      }
    };
    let readings = 0;
    const watch = async (api: string): Promise<void> => {
      const seen = new Map<string, number>();
      while (!isOver()) {
        for (const code of codes) {
          const clicks = await clicksAt(api, code);
          expect(clicks, code).to.be.at.least(seen.get(code) ?? 0);
          expect(clicks, code).to.be.at.most(visits.get(code)?.requests ?? 0);
          seen.set(code, clicks);
          readings += 1;
        }
      }
    };
    const create = async (): Promise<void> => {
      while (!isOver()) {
        const code = await createLink();
        const answers = await Promise.all(
          stack.edges.map((edge) => sendRequest(`${edge}/${code}`)),
        );
        expect(answers.map(({ status }) => status)).to.deep.equal([302, 302]);
        await sleep(50);
      }
    };
    const rebuildAll = async (): Promise<void> => {
      try {
        for (let round = 0; round < rounds; round += 1) {
          for (const name of projectionNames) {
            const env = { DATA_DIR: stack.dataDir };
            const output = await startLinklogCli(
              ['projections', 'rebuild', name, '--yes', '--json'],
              env,
            ).ended;
            expect(output.exitCode, output.stderr).to.equal(0);
            expect(JSON.parse(output.stdout)).to.deep.include({ projection: name, deadLetters: 0 });
          }
        }
      } finally {
        rebuilding.abort();
      }
    };

    await Promise.all([
      rebuildAll(),
      create(),
      ...stack.apis.map(watch),
      ...Array.from({ length: visitors }, (_, number) => visit(number)),
    ]);
    expect(readings).to.be.above(100);
    for (const [code, { redirects }] of visits) {
      for (const api of stack.apis) {
        await eventually(`each visit of ${code} is counted`, async () => {
          return (await clicksAt(api, code)) === redirects;
        });
      }
    }
  });
});
