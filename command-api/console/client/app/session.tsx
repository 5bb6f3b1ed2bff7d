import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ConsoleChanges, SignInWays } from '../../../../schemas/http/console.js';
import { Dialog } from '../components/dialog.js';
import { CallForm } from '../components/forms.js';
import { Trouble } from '../components/trouble.js';
import { Changes, readChanges, useChanges } from './changes.js';
import { onSignedOut, send, type Result, type Failure } from './api.js';
import { fieldsOf, useLoad } from './hooks.js';
import { Invitation, type Invited } from './offer.js';
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

interface SignInProps {
  readonly fields: ComponentChildren;
  readonly signIn: SignIn;
  /** Where the page of the identity provider opens. `_top` prevents that the router follows the link. */
  readonly target?: '_top' | '_blank';
}

/** The ways to sign in: with the identity provider, and with the fields of a form. */
const SignInForm = ({ fields, signIn, target = '_top' }: SignInProps) => {
  const { value, failure, reload } = useLoad(() => send<SignInWays>('/session/ways'), '');
  return (
    <div class="stack">
      <Trouble failure={failure} onRetry={reload} />
      {value?.oidc != null && (
        <a class="button primary" href="/console/oidc/start" target={target}>
          {text.signInWith(value.oidc)}
        </a>
      )}
      {value?.keys === true && (
        <CallForm verb={text.signIn} call={(data) => signIn(fieldsOf(data))}>
          {fields}
        </CallForm>
      )}
    </div>
  );
};

/** The fragment of the address after the user has ended all sessions. */
export const allEnded = '#ended';

/**
 * Reads the token of a one-time address, `#t=…`, that of an invitation, `#i=…`, or `allEnded`, and removes it from the
 * address bar and the history. Browsers do not send fragments.
 */
const takeFragment = () => {
  const { hash } = location;
  const values = new URLSearchParams(hash.slice(1));
  const [token, invitation] = [values.get('t'), values.get('i')];
  const isAllEnded = hash === allEnded;
  if (token !== null || invitation !== null || isAllEnded) {
    history.replaceState(null, '', location.pathname + location.search);
  }
  return { token, invitation, isAllEnded };
};

const noAddress: ReturnType<typeof takeFragment> = {
  token: null,
  invitation: null,
  isAllEnded: false,
};

/** Continues when the user returns from another tab, where a session was started. */
const SessionEnded = (props: {
  readonly children: ComponentChildren;
  readonly onReturn: () => void;
}) => {
  useEffect(() => {
    document.addEventListener('visibilitychange', props.onReturn);
    return () => document.removeEventListener('visibilitychange', props.onReturn);
  }, []);
  return (
    <Dialog title={text.sessionEnded}>
      <p>{text.signInAgain}</p>
      {props.children}
    </Dialog>
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
  const [address, setAddress] = useState(takeFragment);
  /** What the address offers, in words. */
  const [offer, setOffer] = useState<ComponentChildren>(null);
  const [isEnded, setEnded] = useState(false);
  const [first, setFirst] = useState<ConsoleChanges | null>(null);
  const waiting = useRef<(() => void)[]>([]);
  const { token, invitation, isAllEnded } = address;

  const readSession = async (): Promise<void> => {
    // The changes are read before the data of the pages, so that no later change is missed.
    const [result, read] = await Promise.all([send<Session | undefined>(path), readChanges()]);
    setFirst(read);
    if (result.ok) setSession(result.value ?? null);
    else setFailure(result.failure);
  };
  const readAgain = async (): Promise<void> => {
    const result = await send<Session | undefined>(path);
    // The owner may have other scopes now. If the session has ended, the next call asks to sign in.
    if (result.ok && result.value) start(result.value);
  };
  const seen = useChanges(first, () => void readAgain());

  const startInvited = () => send<Invited>('/oidc/start', { method: 'POST', body: { invitation } });
  const readOffer = async (): Promise<Result<ComponentChildren>> => {
    if (token !== null) {
      const result = await send<Session>(path, { method: 'POST', body: { token, accept: false } });
      if (!result.ok) return result;
      const owner = options.describe(result.value);
      return { ...result, value: richText(text.openOffer, { owner }) };
    }
    const result = invitation === null ? null : await startInvited();
    return result?.ok
      ? { ...result, value: <Invitation {...result.value} /> }
      : (result ?? { ok: true, status: 200, value: null });
  };
  const open = async (): Promise<void> => {
    setFailure(undefined);
    const result = await readOffer();
    if (result.ok) {
      setOffer(result.value);
      await readSession();
    } else setFailure(result.failure);
  };

  useLayoutEffect(() => {
    onSignedOut(
      () =>
        new Promise((resolve) => {
          waiting.current.push(resolve);
          setEnded(true);
        }),
    );
    void open();
  }, []);

  const closeOffer = (): void => {
    setOffer(null);
    setAddress(noAddress);
  };

  const start = (next: Session): void => {
    // Another owner must not see the pages of the previous one.
    if (session && options.ownerOf(session) !== options.ownerOf(next)) {
      leaveTo('/console');
      return;
    }
    setEnded(false);
    setSession(next);
    if (first === null) void readChanges().then(setFirst);
    for (const resolve of waiting.current.splice(0)) resolve();
  };

  const signIn = async (body: object): Promise<Result<Session>> => {
    const result = await send<Session>(path, { method: 'POST', body });
    if (result.ok) {
      closeOffer();
      start(result.value);
    }
    return result;
  };

  const accept = async (): Promise<Result<unknown>> => {
    if (token !== null) return signIn({ token, accept: true });
    const result = await startInvited();
    if (result.ok) leaveTo(result.value.location);
    return result;
  };

  const signOut = async (): Promise<void> => {
    const result = await send<{ readonly location: string } | undefined>(path, {
      method: 'DELETE',
    });
    if (result.ok) leaveTo(result.value?.location ?? '/console');
    else setFailure(result.failure);
  };

  if (failure) {
    return (
      <Welcome>
        <Trouble failure={failure} onRetry={() => void open()} />
      </Welcome>
    );
  }
  if (session === undefined) return <p class="welcome" aria-busy="true" />;
  if (offer !== null) {
    return (
      <Welcome>
        {/* The sender of the address may be an attacker. */}
        <CallForm
          verb={token === null ? text.accept : text.open}
          call={accept}
          cancel={text.decline}
          onCancel={closeOffer}
        >
          <p>{offer}</p>
          {session && <p>{richText(text.replacesSession, { owner: options.describe(session) })}</p>}
        </CallForm>
      </Welcome>
    );
  }
  if (session === null) {
    return (
      <Welcome>
        {isAllEnded && (
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
        <SessionEnded onReturn={() => void readAgain()}>
          <SignInForm fields={options.fields} signIn={signIn} target="_blank" />
        </SessionEnded>
      )}
    </Changes.Provider>
  );
};
