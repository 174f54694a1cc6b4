/**
 * How many calls of people pass to the Management API at the same time (docs/rules/console.md#live). What the users of a tenant
 * ask is worked on a few calls at a time, so that nobody's many or slow reads keep the control service and its stores from others.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { LeftLine, WaitingLine } from "../../kernel/waiting-line.ts";
import type { ConsolePerson } from "../../users/person.ts";
import { DashboardError } from "../dashboard-error.ts";
import { OpenCalls, shareOf } from "../open-calls.ts";
import { CLIENT_GONE, passedOn } from "../passed-on.ts";

type Asking = Pick<ConsolePerson, "id" | "role" | "tenant_id">;

export class LiveCalls {
  readonly #open = new OpenCalls();
  readonly #lines = new Map<string, TenantLine>();

  /**
   * The answer of a call of a person, with a body that makes its pieces in turn as well; `left`: aborted when the person leaves;
   * `received`: what the call needs of the person, which takes no turn. Throws DashboardError 429 and what both throw.
   */
  async answer<T>(
    user: Asking,
    left: AbortSignal,
    { received, call }: { readonly received: () => Promise<T>; readonly call: (needed: T) => Promise<Response> },
  ): Promise<Response> {
    const name = lineOf(user);
    if (waitingOf(this.#lines.get(name)) >= LIMITS.tenantConsoleWaiting)
      throw new DashboardError("too_many_calls", { "retry-after": "1" });
    const onOver = this.#open.begin(user.id, shareOf(user));
    left.addEventListener("abort", onOver, { once: true });
    const begin = async (): Promise<() => void> => await this.#begin(name, user.id, left);
    try {
      const needed = await received();
      const end = await begin();
      const { status, headers, body } = await call(needed).finally(end);
      if (body === null) onOver();
      return new Response(body === null ? null : passedOn(body, { begin, onOver }), { status, headers });
    } catch (error) {
      onOver();
      if (error instanceof LeftLine) return new Response(null, { status: CLIENT_GONE });
      throw error;
    }
  }

  /** Waits for a turn of the person, then for one of the tenant; gives what ends both. */
  async #begin(name: string, person: string, left: AbortSignal): Promise<() => void> {
    if (name === "") return () => undefined;
    if (left.aborted) throw new LeftLine();
    const tenant = this.#lines.get(name) ?? { all: new WaitingLine(LIMITS.tenantConsoleCalls), ofPerson: new Map() };
    const own = tenant.ofPerson.get(person) ?? new WaitingLine(LIMITS.personConsoleCalls);
    this.#lines.set(name, tenant);
    tenant.ofPerson.set(person, own);
    const endOwn = await own.begin(left);
    const over = (): void => {
      endOwn();
      if (own.isEmpty) tenant.ofPerson.delete(person);
      if (tenant.ofPerson.size === 0) this.#lines.delete(name);
    };
    try {
      const end = await tenant.all.begin(left);
      return () => {
        end();
        over();
      };
    } catch (error) {
      over();
      throw error;
    }
  }
}

/** Those who wait for a turn of a tenant; each person also waits for one of the person's own. */
interface TenantLine {
  readonly all: WaitingLine;
  readonly ofPerson: Map<string, WaitingLine>;
}

function waitingOf(line: TenantLine | undefined): number {
  if (line === undefined) return 0;
  return [...line.ofPerson.values()].reduce((sum, own) => sum + own.length, line.all.length);
}

/** Who waits in the same line; blank: an admin, who may do what the token may. */
function lineOf({ role, tenant_id, id }: Asking): string {
  return role === "admin" ? "" : (tenant_id ?? id);
}
