import { makePage, type Page } from './page.js';

const notice = (title: string, text: string): Page => makePage({ title, body: `<p>${text}</p>` });

/** Posts to its own address, so nothing in it comes from the link. */
const passwordForm = (wrong: boolean): Page =>
  makePage({
    // Read out first by a screen reader.
    title: wrong ? 'Error: password required' : 'Password required',
    heading: 'Password required',
    form: true,
    body: `<p>This link is protected. Enter its password to go on.</p>
<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" required maxlength="100" autocomplete="off"
  autocapitalize="none" spellcheck="false" autofocus${
    wrong ? ' aria-invalid="true" aria-describedby="error"' : ''
  }>
${wrong ? '<p class="error" id="error" role="alert">That password is wrong. Please try again.</p>\n' : ''}<button type="submit">Continue</button>
</form>`,
  });

/** The pages that are made once: nothing in them comes from a request. */
export const pages = {
  notFound: notice('Short URL not found', 'There is no link at this address. Is it spelled right?'),
  expired: notice('This link has expired', 'It no longer leads anywhere.'),
  blocked: notice('This link has been blocked', 'It was found to be unsafe or abusive.'),
  concealed: notice('A short link', 'Open it in a browser to be taken to its destination.'),
  maintenance: notice('Down for maintenance', 'The service will be back soon.'),
  unavailable: notice('Temporarily unavailable', 'Please try again in a moment.'),
  tooManyAttempts: makePage({
    title: 'Too many attempts',
    body: '<p>Too many attempts. Try again later.</p>\n<p><a href="">Back to the password</a></p>',
  }),
  passwordForm: passwordForm(false),
  wrongPassword: passwordForm(true),
} as const;

export type PageName = keyof typeof pages;
