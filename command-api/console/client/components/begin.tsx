/** The content of pages for an account without links. */
export const Begin = () => (
  <section class="card stack">
    <h2>Begin here</h2>
    <p>
      This account has no links yet. Make one, follow it, and its first click is on the overview a
      second later.
    </p>
    <p class="row">
      <a class="button primary" href="/console/new">
        Make your first link
      </a>
      <a class="button" href="/console/new?many">
        Make many links
      </a>
      <a class="button" href="/console/imports">
        Import links
      </a>
    </p>
  </section>
);
