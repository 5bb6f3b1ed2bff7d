/** What the states of subjects of an account have in common. */

/** The state before the first event. */
export interface None {
  readonly status: 'none';
  readonly sequence: 0;
  readonly lastEventAt: Date;
}

export const noSubject: None = { status: 'none', sequence: 0, lastEventAt: new Date(0) };

/** What stays of a subject after its end, because repeats of its events have lower sequences. */
export interface Remains<Status extends string = string> {
  readonly status: Status;
  readonly account: string;
  readonly sequence: number;
  readonly lastEventAt: Date;
}
