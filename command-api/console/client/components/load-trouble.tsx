import type { Failure } from '../app/api.js';
import { Trouble } from './trouble.js';

/** Whether another attempt can succeed. */
const isTemporary = (failure: Failure | undefined): boolean =>
  failure?.kind === 'offline' ||
  failure?.kind === 'wait' ||
  (failure?.kind === 'refused' && failure.status >= 500);

interface Props {
  readonly failure: Failure | undefined;
  readonly onRetry: () => void;
}

/** Why something could not be loaded, and a button to retry if that can help. */
export const LoadTrouble = ({ failure, onRetry }: Props) => (
  <Trouble failure={failure} {...(isTemporary(failure) && { onRetry })} />
);
