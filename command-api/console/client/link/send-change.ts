import type { LinkDetails } from '../../../../schemas/http/links.js';
import { callApi, type Result } from '../app/api.js';

interface Changed {
  readonly link: Pick<LinkDetails, 'version'>;
  /** The path and query of the link in `/v2` or `/admin`. */
  readonly path: string;
}

/** Changes a link, unless its version has changed. */
export const sendChange = (
  { link, path }: Changed,
  method: 'PATCH' | 'DELETE',
  body?: unknown,
): Promise<Result<LinkDetails | undefined>> =>
  callApi(path, {
    method,
    headers: { 'If-Match': `"${link.version}"` },
    ...(body !== undefined && { body }),
  });
