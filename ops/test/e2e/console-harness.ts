import { expect } from 'chai';
import { messages } from '../../../schemas/http/errors.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { expectBody, type Bench } from './harness.js';

export const sessionPath = '/console/session';
/** An address that is no trusted proxy of the shared product. */
export const untrusted = '127.0.0.9';

const signedOut = { statusCode: 401, message: messages.sessionOver, error: 'Unauthorized' };

export const setCookie = ({ headers }: HttpResponse): string => headers['set-cookie']?.join() ?? '';
export const cookieOf = (response: HttpResponse): string => setCookie(response).split(';')[0] ?? '';

let visitors = 0;

/** Requests to the consoles of a running product. */
export const consoleCalls = (bench: Bench) => {
  /** An address with no earlier guesses. */
  const newVisitor = (): { readonly headers: Readonly<Record<string, string>> } => {
    visitors += 1;
    return { headers: { 'X-Forwarded-For': `198.51.100.${visitors}` } };
  };

  /** Sends a request as a page of this listener's console does. */
  const sendFromPage = (
    listener: string,
    method: string,
    path: string,
    { headers, ...options }: RequestOptions = {},
  ): Promise<HttpResponse> =>
    sendRequest(listener + path, { method, ...options, headers: { Origin: listener, ...headers } });

  const signIn = (body: unknown, options: RequestOptions = {}, listener = bench.product.api) =>
    sendFromPage(listener, 'POST', sessionPath, { ...options, body });

  /** Signs in with a new key at the first API. */
  const session = async (plan: 'FREE' | 'PRO' = 'PRO') => {
    const key = await bench.key(plan);
    const response = await signIn({ key: key.key });
    expect(response.status, response.text).to.equal(200);
    const Cookie = cookieOf(response);
    return {
      ...key,
      Cookie,
      ask: (method: string, path: string, body?: unknown, api = bench.product.api) =>
        sendFromPage(api, method, path, { headers: { Cookie }, body }),
    };
  };

  const operator = (actor: string, options: RequestOptions = {}) =>
    signIn({ token: bench.product.adminToken, actor }, options, bench.product.admin);

  const expectSignedOut = async (request: Promise<HttpResponse>): Promise<void> => {
    expectBody(await request, 401, signedOut);
  };

  return { newVisitor, sendFromPage, signIn, session, operator, expectSignedOut };
};
