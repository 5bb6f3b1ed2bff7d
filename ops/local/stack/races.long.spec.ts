import { expect } from 'chai';
import { inheritedEnvironment } from '../../config/config.js';
import { kafkaStartMs } from '../../test/support/kafka.js';
import { sendRequest, concurrently, statuses, type HttpResponse } from '../../test/support/http.js';
import { startStackProduct } from '../../test/support/product.js';
import { fixture } from '../../test/support/fixture.js';

/** `LINKLOG_RACE_ROUNDS=50` is the long form. */
const rounds = Number(inheritedEnvironment()['LINKLOG_RACE_ROUNDS'] ?? '2');
const racers = 1_000;

describe(`local servers: races over two APIs and two edges, ${rounds} rounds`, function () {
  this.timeout(kafkaStartMs + rounds * 60_000);

  const product = fixture(
    () => startStackProduct(),
    (product) => product.cleanup(),
  );

  after(async () => {
    await product.stop();
  });

  const addressAt = (addresses: readonly string[], index: number): string =>
    addresses[index % addresses.length] ?? '';

  const newKey = async (plan: 'FREE' | 'PRO'): Promise<string> =>
    (await product.createKey({ plan })).key;

  const shorten = (index: number, key: string, body: object): Promise<HttpResponse> =>
    sendRequest(`${addressAt(product.apis, index)}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: 'https://example.com/', ...body },
    });

  const link = async (key: string, body: object): Promise<string> => {
    const answer = await shorten(0, key, body);
    expect(answer.status, answer.text).to.equal(201);
    return (answer.json() as { shortCode: string }).shortCode;
  };

  it(`give an alias to one of ${racers} requests`, async () => {
    for (let round = 1; round <= rounds; round += 1) {
      const keys = [await newKey('PRO'), await newKey('PRO')];
      const answers = await concurrently(racers, (racer) =>
        shorten(racer, keys[Math.floor(racer / 2) % 2] ?? '', { alias: `raced-for-${round}` }),
      );
      expect(statuses(answers), `round ${round}`).to.deep.equal({ 201: 1, 400: racers - 1 });
    }
  });

  for (const limit of [1, 10, 999]) {
    it(`redirect exactly ${limit} of ${racers} visits of a link with that limit`, async () => {
      const key = await newKey('PRO');
      for (let round = 1; round <= rounds; round += 1) {
        const code = await link(key, { maxClicks: limit });
        const answers = await concurrently(racers, (visitor) =>
          sendRequest(`${addressAt(product.edges, visitor)}/${code}`),
        );
        const expected = { 302: limit, 410: racers - limit };
        expect(statuses(answers), `round ${round}`).to.deep.equal(expected);
      }
    });
  }

  it('accept exactly 60 of 200 concurrent calls with a limit of 60 a minute', async () => {
    for (let round = 1; round <= rounds; round += 1) {
      const key = await newKey('FREE');
      const answers = await concurrently(200, (call) =>
        sendRequest(`${addressAt(product.apis, call)}/v2/usage`, {
          headers: { Authorization: `Bearer ${key}` },
        }),
      );
      expect(statuses(answers), `round ${round}`).to.deep.equal({ 200: 60, 429: 140 });
    }
  });

  it('redirect a new link on each edge immediately', async () => {
    const key = await newKey('PRO');
    for (let round = 1; round <= rounds * 20; round += 1) {
      const code = await link(key, {});
      const answers = await Promise.all(
        product.edges.map((edge) => sendRequest(`${edge}/${code}`)),
      );
      expect(
        answers.map(({ status }) => status),
        `link ${round}`,
      ).to.deep.equal([302, 302]);
    }
  });
});
