/** One request under way at a time: what is asked meanwhile waits, and only the newest of it is asked at all. */
export class Latest {
  constructor() {
    this.running = false;
    this.waiting = null;
    this.turn = 0;
  }

  /** Run `ask`, then `show` with its answer, unless something newer was asked meanwhile. */
  async run(ask, show, fail) {
    const turn = ++this.turn;
    if (this.running) {
      this.waiting = [ask, show, fail, turn];
      return;
    }
    this.running = true;
    let next = [ask, show, fail, turn];
    while (next) {
      const [asked, shown, failed, own] = next;
      try {
        const answer = await asked();
        if (own === this.turn) shown(answer);
      } catch (error) {
        if (own === this.turn) failed(error);
      }
      next = this.waiting;
      this.waiting = null;
    }
    this.running = false;
  }
}
