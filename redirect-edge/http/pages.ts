import { messages } from '../../schemas/http/errors.js';
import { makePage, type Page } from './page.js';

const notice = (title: string, text: string): Page => makePage({ title, body: `<p>${text}</p>` });

/**
 * Posts to its own address, so nothing in it comes from the link. A password has at most 100
 * characters; `maxlength` counts UTF-16 units, of which a character may take two.
 */
const passwordForm = (wrong: boolean): Page =>
  makePage({
    // Read out first by a screen reader.
    title: wrong ? 'Error: password required' : 'Password required',
    heading: 'Password required',
    form: true,
    body: `<p>This link is protected. Enter its password to go on.</p>
<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" required maxlength="200"
  autocomplete="current-password" autofocus${
    wrong ? ' aria-invalid="true" aria-describedby="error"' : ''
  }>
${wrong ? '<p class="error" id="error" role="alert">That password is wrong. Please try again.</p>\n' : ''}<button type="submit">Continue</button>
</form>`,
  });

/** The pages that are made once: nothing in them comes from a request. */
export const pages = {
  notFound: notice(
    'Short URL not found',
    'There is no link at this address. Check its spelling: capital and small letters differ.',
  ),
  expired: notice(
    'This link has expired',
    'It no longer leads anywhere. Whoever gave it to you may have a new one.',
  ),
  blocked: notice(
    'This link has been blocked',
    'It was found to be unsafe or abusive, and no longer leads anywhere.',
  ),
  concealed: notice('A short link', 'Open it in a browser to be taken to its destination.'),
  maintenance: notice('Down for maintenance', 'Short links will work again soon.'),
  unavailable: notice('Temporarily unavailable', 'Please try again in a moment.'),
  passwordForm: passwordForm(false),
  wrongPassword: passwordForm(true),
} as const;

export type PageName = keyof typeof pages;

/** Its heading is the message that other clients get. */
export const tooManyAttemptsPage = (retryAfterSeconds: number): Page =>
  makePage({
    title: messages.tooManyAttempts,
    body: `<p>The password can be entered again in ${retryAfterSeconds} second${
      retryAfterSeconds === 1 ? '' : 's'
    }.</p>
<p><a href="">Back to the password</a></p>`,
  });
