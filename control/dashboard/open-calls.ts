/** How many calls pass through the console's server at the same time (docs/rules/console.md#relay). */
import type { ConsolePerson } from "../users/person.ts";
import { DashboardError } from "./dashboard-error.ts";

const PERSON_MAX = 32;
/** Of the people of a tenant, those at work and in its line included. */
const TENANT_MAX = 96;
/** Of all people. Each call holds two connections. */
const ALL_MAX = 512;
/** The last ones of these are for admins. */
const ADMINS_ONLY = 64;

/** Whose share a person's call counts to: a tenant's, or that of everybody without one; null: of an admin, whom none limits. */
export function shareOf({ role, tenant_id }: Pick<ConsolePerson, "role" | "tenant_id">): string | null {
  return role === "admin" ? null : (tenant_id ?? "");
}

export class OpenCalls {
  readonly #ofPerson = new Map<string, number>();
  readonly #ofShare = new Map<string, number>();
  #all = 0;

  /**
   * Counts a call of a person until the returned function is called for the first time. Throws DashboardError 429 while the
   * person, the share, or all together, have as many as there may be. `share`: see {@link shareOf}.
   */
  begin(userId: string, share: string | null): () => void {
    const isTooMany =
      (this.#ofPerson.get(userId) ?? 0) >= PERSON_MAX ||
      (share !== null && (this.#ofShare.get(share) ?? 0) >= TENANT_MAX) ||
      this.#all >= (share === null ? ALL_MAX : ALL_MAX - ADMINS_ONLY);
    if (isTooMany) throw new DashboardError("too_many_calls", { "retry-after": "1" });
    this.#count(userId, share, 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#count(userId, share, -1);
    };
  }

  #count(userId: string, share: string | null, by: 1 | -1): void {
    this.#all += by;
    add(this.#ofPerson, userId, by);
    if (share !== null) add(this.#ofShare, share, by);
  }
}

/** Forgets what is at 0. */
function add(counts: Map<string, number>, name: string, by: number): void {
  const now = (counts.get(name) ?? 0) + by;
  if (now > 0) counts.set(name, now);
  else counts.delete(name);
}
