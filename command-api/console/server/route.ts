import type { ConsoleAddressResponse } from '../../../schemas/http/console.js';
import { messages } from '../../../schemas/http/errors.js';
import { consoleAddress, createConsoleToken } from './console-keys.js';
import { failure, json } from '../../http/reply.js';
import type { AdminHandlers } from '../../http/operator-requests.js';

/** One-time addresses of the developers' console. */
export const consoleHandlers = (({ pool, consoleUrl }) => ({
  async createConsoleAddress({ body: { key: keyId } }) {
    const url = consoleUrl();
    if (url === null) return failure(404, messages.notFound);
    const created = await createConsoleToken(pool, keyId);
    if (!created) return failure(404, 'No such API key is active');
    const { account, key, token } = created;
    const body: ConsoleAddressResponse = { account, key, url: consoleAddress(url, token) };
    return json(201, body);
  },
})) satisfies AdminHandlers;
