import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.js';
import { Trouble } from '../components/trouble.js';
import { onSignedOut, send, type Answer, type Failure } from './api.js';
import { fieldsOf, onSubmit, useAction } from './hooks.js';

const path = '/session';

interface Door<Session> {
  /** The fields of the form, and what they are called in the body of the call. */
  readonly fields: ComponentChildren;
  /** Whose session it is: another one's must not get this one's page. */
  readonly ownerOf: (session: Session) => string;
  readonly describe: (session: Session) => ComponentChildren;
}

interface Props<Session> extends Door<Session> {
  readonly children: (session: Session, signOut: () => void) => ComponentChildren;
}

/** Signs in, and resolves with the answer, whose session is begun already. */
type SignIn = (body: object) => Promise<Answer<unknown>>;

const SignInForm = (props: { readonly fields: ComponentChildren; readonly signIn: SignIn }) => {
  const { isBusy, failure, run } = useAction();
  return (
    <form class="stack" onSubmit={onSubmit((form) => run(() => props.signIn(fieldsOf(form))))}>
      {props.fields}
      <Trouble failure={failure} />
      <button class="primary" aria-disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
};

/**
 * The token of a one-time address, `#t=…`, which is taken out of the address bar and of the history at once.
 * Its fragment has never left this browser.
 */
const takeToken = (): string | null => {
  const token = new URLSearchParams(location.hash.slice(1)).get('t');
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
};

/** Asks before a one-time address opens an account: whoever sent it may want to be given what is typed there. */
const OneTimeAddress = (props: {
  readonly token: string;
  readonly owner: ComponentChildren;
  /** Whose session this one ends; `null`: there is none. */
  readonly current: ComponentChildren;
  readonly signIn: SignIn;
  readonly onRefused: () => void;
}) => {
  const { isBusy, failure, run } = useAction();
  const accept = () => run(() => props.signIn({ token: props.token, accept: true }));
  return (
    <div class="stack">
      <p>This address opens the console of {props.owner}.</p>
      {props.current !== null && <p>You are signed in to {props.current}. That session ends.</p>}
      <Trouble failure={failure} />
      <div class="row">
        <button type="button" class="primary" aria-disabled={isBusy} onClick={() => void accept()}>
          Open it
        </button>
        <button type="button" onClick={props.onRefused}>
          No, thanks
        </button>
      </div>
    </div>
  );
};

const Welcome = ({ children }: { readonly children: ComponentChildren }) => (
  <main class="welcome card">
    <h1>
      <img src={new URL('../icon.svg', import.meta.url).href} alt="" width="32" height="32" />{' '}
      {document.title.split(' · ').at(-1)}
    </h1>
    {children}
  </main>
);

/** Shows what it contains to whoever is signed in, and a form to everybody else. */
export const SessionGate = <Session,>({ children, ...door }: Props<Session>) => {
  const [session, setSession] = useState<Session | null>();
  const [failure, setFailure] = useState<Failure>();
  const [offer, setOffer] = useState<{ readonly token: string; readonly owner: Session }>();
  const [isEnded, setEnded] = useState(false);
  const waiting = useRef<(() => void)[]>([]);

  const look = async (): Promise<void> => {
    setFailure(undefined);
    const answer = await send<Session | undefined>(path);
    if (answer.ok) setSession(answer.value ?? null);
    else setFailure(answer.failure);
  };

  useLayoutEffect(() => {
    const token = takeToken();
    onSignedOut(
      () =>
        new Promise((resolve) => {
          waiting.current.push(resolve);
          setEnded(true);
        }),
    );
    void (async () => {
      if (token !== null) {
        const body = { token, accept: false };
        const answer: Answer<Session> = await send(path, { method: 'POST', body });
        if (answer.ok) setOffer({ token, owner: answer.value });
        else setFailure(answer.failure);
        if (!answer.ok) return;
      }
      await look();
    })();
  }, []);

  const begin = (next: Session): void => {
    // Nothing of one owner's pages is for another one's eyes.
    if (session && door.ownerOf(session) !== door.ownerOf(next)) {
      location.assign('/console');
      return;
    }
    setOffer(undefined);
    setEnded(false);
    setSession(next);
    for (const goOn of waiting.current.splice(0)) goOn();
  };

  const signIn = async (body: object): Promise<Answer<Session>> => {
    const answer = await send<Session>(path, { method: 'POST', body });
    if (answer.ok) begin(answer.value);
    return answer;
  };

  const signOut = async (): Promise<void> => {
    const answer = await send(path, { method: 'DELETE' });
    if (answer.ok) location.assign('/console');
    else setFailure(answer.failure);
  };

  if (failure) {
    return (
      <Welcome>
        <Trouble failure={failure} onRetry={() => void look()} />
      </Welcome>
    );
  }
  if (session === undefined) return <p class="welcome" aria-busy="true" />;
  if (offer) {
    return (
      <Welcome>
        <OneTimeAddress
          token={offer.token}
          owner={door.describe(offer.owner)}
          current={session && door.describe(session)}
          signIn={signIn}
          onRefused={() => {
            setOffer(undefined);
          }}
        />
      </Welcome>
    );
  }
  if (session === null) {
    return (
      <Welcome>
        <SignInForm fields={door.fields} signIn={signIn} />
      </Welcome>
    );
  }
  return (
    <>
      {children(session, () => void signOut())}
      {isEnded && (
        <Dialog title="Your session has ended">
          <p>Sign in again to go on. What you have typed is still there.</p>
          <SignInForm fields={door.fields} signIn={signIn} />
        </Dialog>
      )}
    </>
  );
};
