import { newEvent, writeEvent } from '../../schemas/events/codec.js';

/**
 * A visit that is about to be redirected. Whatever derives from the visitor's address is computed
 * before; the address itself never gets here.
 */
export interface SpooledVisit {
  /** The link's short code. */
  readonly code: string;
  readonly at: Date;
  readonly bot: boolean;
  /** The account that the link belongs to. */
  readonly account?: string | undefined;
  readonly requestId?: string | undefined;
}

/** Its LinkVisited event as it will stand in the log. */
export const visitEvent = (
  visit: SpooledVisit,
  id: string,
  source: string,
  sequence: number,
): string =>
  writeEvent(
    newEvent(
      'LinkVisited',
      { click: null, bot: visit.bot },
      {
        id,
        source,
        sequence,
        subject: visit.code,
        time: visit.at,
        account: visit.account,
        correlationId: visit.requestId,
      },
    ),
  );
