import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ConsoleChanges } from '../../../../schemas/http/console.js';
import { Dialog } from '../components/dialog.js';
import { CallForm } from '../components/forms.js';
import { Trouble } from '../components/trouble.js';
import { Changes, readChanges, useChanges } from './changes.js';
import { onSignedOut, send, type Result, type Failure } from './api.js';
import { fieldsOf, useAction } from './hooks.js';
import { texts } from '../../texts.js';
import { richText } from '../components/rich-text.js';
import { leaveTo } from '../components/unsaved.js';

const path = '/session';
const text = texts.app;

interface SessionOptions<Session> {
  /** The fields of the form. Their names are those in the body of the request. */
  readonly fields: ComponentChildren;
  /** The owner of a session. Another owner must not see the current page. */
  readonly ownerOf: (session: Session) => string;
  readonly describe: (session: Session) => ComponentChildren;
}

interface Props<Session> extends SessionOptions<Session> {
  readonly children: (session: Session, signOut: () => void) => ComponentChildren;
}

type SignIn = (body: object) => Promise<Result<unknown>>;

const SignInForm = (props: { readonly fields: ComponentChildren; readonly signIn: SignIn }) => (
  <CallForm verb={text.signIn} call={(data) => props.signIn(fieldsOf(data))}>
    {props.fields}
  </CallForm>
);

/** The fragment of the address after the user has ended all sessions. */
export const allEnded = '#ended';

/**
 * Reads the token of a one-time address, `#t=…`, or `allEnded`, and removes it from the address bar and the history.
 * Browsers do not send fragments.
 */
const takeFragment = (): { readonly token: string | null; readonly isAllEnded: boolean } => {
  const { hash } = location;
  const token = new URLSearchParams(hash.slice(1)).get('t');
  const isAllEnded = hash === allEnded;
  if (token !== null || isAllEnded) {
    history.replaceState(null, '', location.pathname + location.search);
  }
  return { token, isAllEnded };
};

/** Asks before a one-time address opens an account, because its sender may be an attacker. */
const OneTimeAddress = (props: {
  readonly token: string;
  readonly owner: ComponentChildren;
  /** The owner of the current session, which ends; `null`: none. */
  readonly current: ComponentChildren;
  readonly signIn: SignIn;
  readonly onRefused: () => void;
}) => {
  const { isBusy, failure, run } = useAction();
  const accept = () => run(() => props.signIn({ token: props.token, accept: true }));
  return (
    <div class="stack">
      <p>{richText(text.openOffer, { owner: props.owner })}</p>
      {props.current !== null && <p>{richText(text.replacesSession, { owner: props.current })}</p>}
      <Trouble failure={failure} />
      <div class="row">
        <button type="button" class="primary" aria-disabled={isBusy} onClick={() => void accept()}>
          {text.open}
        </button>
        <button type="button" onClick={props.onRefused}>
          {text.decline}
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

/** Shows its children with a session, and the form to sign in without one. */
export const SessionGate = <Session,>({ children, ...options }: Props<Session>) => {
  const [session, setSession] = useState<Session | null>();
  const [failure, setFailure] = useState<Failure>();
  const [offer, setOffer] = useState<{ readonly token: string; readonly owner: Session }>();
  const [isEnded, setEnded] = useState(false);
  const [areAllEnded, setAllEnded] = useState(false);
  const [first, setFirst] = useState<ConsoleChanges | null>(null);
  const waiting = useRef<(() => void)[]>([]);

  const readSession = async (): Promise<void> => {
    setFailure(undefined);
    // The changes are read before the data of the pages, so that no later change is missed.
    const [result, read] = await Promise.all([send<Session | undefined>(path), readChanges()]);
    setFirst(read);
    if (result.ok) setSession(result.value ?? null);
    else setFailure(result.failure);
  };
  const readAgain = async (): Promise<void> => {
    const result = await send<Session | undefined>(path);
    // The key may have other scopes now. If the session has ended, the next call asks to sign in.
    if (result.ok && result.value) setSession(result.value);
  };
  const seen = useChanges(first, () => void readAgain());

  useLayoutEffect(() => {
    const { token, isAllEnded } = takeFragment();
    setAllEnded(isAllEnded);
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
        const result: Result<Session> = await send(path, { method: 'POST', body });
        if (result.ok) setOffer({ token, owner: result.value });
        else setFailure(result.failure);
        if (!result.ok) return;
      }
      await readSession();
    })();
  }, []);

  const start = (next: Session): void => {
    // Another owner must not see the pages of the previous one.
    if (session && options.ownerOf(session) !== options.ownerOf(next)) {
      leaveTo('/console');
      return;
    }
    setOffer(undefined);
    setEnded(false);
    setSession(next);
    if (first === null) void readChanges().then(setFirst);
    for (const resolve of waiting.current.splice(0)) resolve();
  };

  const signIn = async (body: object): Promise<Result<Session>> => {
    const result = await send<Session>(path, { method: 'POST', body });
    if (result.ok) start(result.value);
    return result;
  };

  const signOut = async (): Promise<void> => {
    const result = await send(path, { method: 'DELETE' });
    if (result.ok) leaveTo('/console');
    else setFailure(result.failure);
  };

  if (failure) {
    return (
      <Welcome>
        <Trouble failure={failure} onRetry={() => void readSession()} />
      </Welcome>
    );
  }
  if (session === undefined) return <p class="welcome" aria-busy="true" />;
  if (offer) {
    return (
      <Welcome>
        <OneTimeAddress
          token={offer.token}
          owner={options.describe(offer.owner)}
          current={session && options.describe(session)}
          signIn={signIn}
          onRefused={() => setOffer(undefined)}
        />
      </Welcome>
    );
  }
  if (session === null) {
    return (
      <Welcome>
        {areAllEnded && (
          <p class="notice" role="status">
            {text.allSessionsEnded}
          </p>
        )}
        <SignInForm fields={options.fields} signIn={signIn} />
      </Welcome>
    );
  }
  return (
    <Changes.Provider value={seen}>
      {children(session, () => void signOut())}
      {isEnded && (
        <Dialog title={text.sessionEnded}>
          <p>{text.signInAgain}</p>
          <SignInForm fields={options.fields} signIn={signIn} />
        </Dialog>
      )}
    </Changes.Provider>
  );
};
