/** The result of one check before a deployment. */

/** A check and its result. Nothing is uploaded while one has a problem. */
export interface Finding {
  readonly what: string;
  /** The fault and its fix; null if there is none. */
  readonly problem: string | null;
  /** The known facts if nothing is wrong. */
  readonly detail: string;
}

/** A finding without a problem. */
export function fine(what: string, detail: string): Finding {
  return { what, problem: null, detail };
}

/** A finding that stops the deployment. */
export function wrong(what: string, problem: string): Finding {
  return { what, problem, detail: "" };
}

/** One finding for all problems of a kind, or one that all is well. */
export function findingOf(what: string, problems: readonly string[], detail: string): readonly Finding[] {
  return problems.length === 0 ? [fine(what, detail)] : problems.map((problem) => wrong(what, problem));
}
