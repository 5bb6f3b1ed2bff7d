/** A CloudEvent of the feed, as clients parse it. */
export interface FeedEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly sequence: string;
  readonly account: string;
  readonly actor?: string;
  readonly correlationid?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** `LinkCreated` for `linklog.LinkCreated.v4`. */
export const nameOf = ({ type }: FeedEvent): string => type.split('.')[1] ?? type;
