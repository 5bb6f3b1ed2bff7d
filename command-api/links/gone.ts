import { linkStatusAt, type LinkState } from '../../schemas/folds/link.js';
import type { RecordedStatus } from '../../schemas/folds/link-status.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, type Reply } from '../http/reply.js';

export const goneResponses: Readonly<Record<Exclude<RecordedStatus, 'active'>, Reply>> = {
  deleted: { ...failure(410, messages.linkDeleted), errorType: 'DELETED' },
  blocked: { ...failure(410, messages.linkBlocked), errorType: 'BLOCKED' },
  disabled: { ...failure(410, messages.linkDisabled), errorType: 'DISABLED' },
  expired: { ...failure(410, messages.linkExpired), errorType: 'EXPIRED' },
};

/** The error response for a link that does not redirect; `null` if it redirects, now or later. */
export const goneReply = (state: LinkState, now: Date): Reply | null => {
  if (state.status === 'none') return failure(404, messages.codeNotFound);
  const status = linkStatusAt(state, now);
  return status === 'active' || status === 'scheduled' ? null : goneResponses[status];
};
