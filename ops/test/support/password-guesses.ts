import { createLink } from './create-links.js';
import { concurrently, sendRequest } from './http.js';
import type { Product } from './product.js';
import { watchRss } from './rss.js';

/** The environment of a product that accepts `X-Forwarded-For` of the guesses. */
export const behindProxy = { TRUSTED_PROXIES: '127.0.0.0/8' };

const password = 'correct horse';
const guessCount = 600;
const concurrentGuesses = 100;

/** The number of responses by status. */
type Statuses = Record<number, number>;

let lastAddress = Math.trunc(Math.random() * 2 ** 24);

/** An address that no earlier call returned. */
const newAddress = (): string => {
  lastAddress += 1;
  return [10, lastAddress >> 16, lastAddress >> 8, lastAddress].map((part) => part & 255).join('.');
};

/** Floods one link with wrong passwords, and records the responses to them and to visitors before, meanwhile and after. */
export const floodWithGuesses = async (
  product: Product,
  { manyClients }: { readonly manyClients: boolean },
) => {
  const { key } = await product.createKey({ plan: 'PRO' });
  const newLink = async (fields: object): Promise<string> =>
    `${product.edge}/${(await createLink(product.api, key, fields)).shortCode}`;
  const [plain, target, other] = [
    ...[await newLink({}), await newLink({ password }), await newLink({ password })],
  ] as [string, string, string];
  const enter = (url: string, word: string, address: string) => ({
    url,
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Forwarded-For': address,
    },
    body: new URLSearchParams({ password: word }).toString(),
  });
  const send = async (
    statuses: Statuses,
    { url, ...options }: { readonly url: string },
  ): Promise<void> => {
    const { status } = await sendRequest(url, options);
    statuses[status] = (statuses[status] ?? 0) + 1;
  };

  const visitors: Record<string, Statuses> = {};
  const visit = async (): Promise<void> => {
    for (const [name, request] of Object.entries({
      redirects: { url: plain },
      forms: { url: other },
      'right passwords': enter(other, password, newAddress()),
      'right passwords at the attacked link': enter(target, password, newAddress()),
    })) {
      await send((visitors[name] ??= {}), request);
    }
  };
  await visit();
  const memory = await watchRss(product);
  const guesses: Statuses = {};
  const oneAddress = newAddress();
  let sent = 0;
  const guess = async (): Promise<void> => {
    while (sent < guessCount) {
      sent += 1;
      const address = manyClients ? newAddress() : oneAddress;
      await send(guesses, enter(target, `wrong horse ${sent}`, address));
    }
  };
  const flood = concurrently(concurrentGuesses, guess);
  while (sent < guessCount) await visit();
  await flood;
  await visit();
  return { guesses, visitors, rssMiB: await memory.stop() };
};
