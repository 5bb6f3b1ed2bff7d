/** What a decision about an operator's command needs from outside: when, and who asked. */
export interface OperatorCircumstances {
  readonly now: Date;
  readonly newId: () => string;
  readonly actor: string;
  readonly requestId: string;
}
