/**
 * How many calls of people pass to the Management API at the same time (docs/rules/console.md#live). What the users of a tenant
 * ask is worked on a few calls at a time, so that nobody's many or slow reads keep the control service and its stores from others.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { LeftLine, WaitingLine } from "../../kernel/waiting-line.ts";
import type { ConsolePerson } from "../../users/person.ts";
import { DashboardError } from "../dashboard-error.ts";
import { OpenCalls } from "../open-calls.ts";
import { passedOn } from "../passed-on.ts";

type Asking = Pick<ConsolePerson, "id" | "role" | "tenant_id">;

/** Nobody reads this status. */
const CLIENT_GONE = 499;

export class LiveCalls {
  readonly #open = new OpenCalls();
  readonly #lines = new Map<string, WaitingLine>();

  /**
   * The answer of a call of a person, with a body that makes its pieces in turn as well; `left`: aborted when the person leaves.
   * Throws DashboardError 429 and what the call throws.
   */
  async answer(user: Asking, left: AbortSignal, call: () => Promise<Response>): Promise<Response> {
    const name = lineOf(user);
    if ((this.#lines.get(name)?.length ?? 0) >= LIMITS.tenantConsoleWaiting)
      throw new DashboardError("too_many_calls", { "retry-after": "1" });
    const onOver = this.#open.begin(user.id);
    left.addEventListener("abort", onOver, { once: true });
    const begin = async (): Promise<() => void> => await this.#begin(name, left);
    try {
      const end = await begin();
      const { status, headers, body } = await call().finally(end);
      if (body === null) onOver();
      return new Response(body === null ? null : passedOn(body, { begin, onOver }), { status, headers });
    } catch (error) {
      onOver();
      if (error instanceof LeftLine) return new Response(null, { status: CLIENT_GONE });
      throw error;
    }
  }

  /** Waits for a turn; gives what ends it. */
  async #begin(name: string, left: AbortSignal): Promise<() => void> {
    if (name === "") return () => undefined;
    const line = this.#lines.get(name) ?? new WaitingLine(LIMITS.tenantConsoleCalls);
    this.#lines.set(name, line);
    const end = await line.begin(left);
    return () => {
      end();
      if (line.isEmpty) this.#lines.delete(name);
    };
  }
}

/** Who waits in the same line; blank: an admin, who may do what the token may. */
function lineOf({ role, tenant_id, id }: Asking): string {
  return role === "admin" ? "" : (tenant_id ?? id);
}
