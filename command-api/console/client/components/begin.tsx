import { texts } from '../../texts.js';

const text = texts.components;

/** The content of pages for an account without links. */
export const Begin = () => (
  <section class="card stack">
    <h2>{text.beginHere}</h2>
    <p>{text.begin}</p>
    <p class="row">
      <a class="button primary" href="/console/new">
        {text.firstLink}
      </a>
      <a class="button" href="/console/new?many">
        {text.manyLinks}
      </a>
      <a class="button" href="/console/imports">
        {text.importLinks}
      </a>
    </p>
  </section>
);
