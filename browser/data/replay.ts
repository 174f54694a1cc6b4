/** A request on its way from its page to the playground, in memory alone: pages do not import each other. */

export interface Replay {
  /** The path that the client called, such as `/v1/chat/completions`. */
  readonly path: string;
  /** The JSON of its body. */
  readonly text: string;
}

let waiting: Replay | null = null;

export function giveReplay(replay: Replay): void {
  waiting = replay;
}

/** The request; it is handed over once. */
export function takeReplay(): Replay | null {
  const taken = waiting;
  waiting = null;
  return taken;
}
