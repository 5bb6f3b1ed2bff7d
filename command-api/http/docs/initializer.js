/* global SwaggerUIBundle */

// Swagger UI switches to its dark mode only in its standalone layout.
const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
followScheme();
dark.addEventListener('change', followScheme);

/** What reports the session; `null`: the console is off. */
const status = document.querySelector('#session');

const showSession = (session) => {
  if (session === null) {
    status.textContent = 'Sign in to the console to try calls out, or authorize a key.';
    return;
  }
  const name = document.createElement('bdi');
  name.textContent = session.key.name;
  status.replaceChildren('Calls use the key ', name, ' of your session.');
};

/** Resolves with the session of the console in this browser, or `null`. */
const readSession = async () => {
  if (status === null) return null;
  try {
    const response = await fetch(status.dataset.address);
    const session = response.status === 200 ? await response.json() : null;
    showSession(session);
    return session;
  } catch (error) {
    status.textContent = `The session of the console cannot be read: ${error.message}`;
    return null;
  }
};

let session = readSession();
// Another tab may sign in or out.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') session = readSession();
});

/** Sends calls without an authorized key with the cookie of the session. */
const withSession = async (request) => {
  const url = new URL(request.url, document.baseURI);
  const isCall = !request.loadSpec && url.pathname.startsWith('/v2/');
  if (!isCall || request.headers.Authorization || (await session) === null) return request;
  // A GET with a cookie must not spend a QR code.
  if (url.pathname.startsWith('/v2/qr/')) request.method = 'POST';
  url.pathname = `/console${url.pathname}`;
  request.url = url.href;
  return request;
};

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  // The validator is another's server.
  validatorUrl: null,
  requestInterceptor: withSession,
  // The curl command has the address of the API, because it has no cookie.
  showMutatedRequest: false,
});
