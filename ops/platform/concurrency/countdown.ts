/** Counts down milliseconds, without the time in which at least one pause lasts. The caller gives the time. */
export class Countdown {
  #endsAt: number;
  #pauses = 0;
  #pausedAt = 0;

  constructor(ms: number, now: number) {
    this.#endsAt = now + ms;
  }

  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  /** Milliseconds that are left; not positive at the end. */
  leftMs(now: number): number {
    return this.#endsAt - (this.isPaused ? this.#pausedAt : now);
  }

  pause(now: number): void {
    if (!this.isPaused) this.#pausedAt = now;
    this.#pauses += 1;
  }

  /** Ends one of the pauses. */
  resume(now: number): void {
    this.#pauses -= 1;
    if (!this.isPaused) this.#endsAt += now - this.#pausedAt;
  }
}
