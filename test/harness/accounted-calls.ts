/**
 * Calls of one tenant that are accounted for one by one. Each has a session id of its own, by which its row is found also when its
 * client was never told the request id. What the rows say is compared with what the client got, and the tenant's budget with the
 * sum of its rows.
 */
import { expect } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import type { DailyUsage } from "../../shared/schema/usage-reads.ts";
import { reportFault } from "./fault-table.ts";
import type { Gateway, Minted } from "./gateway.ts";
import { waitFor } from "./wait-for.ts";

/** What the upstream reports for each call (upstream-answers.ts), and what that costs (gateway.ts). */
const TRUE_ROW = { status_code: 200, input_tokens: 11, output_tokens: 22, total_tokens: 33, cost_usd: 0.231 };

/** One call, and what its client got. */
export interface AccountedCall {
  readonly session: string;
  readonly gateway: Gateway;
  readonly sentMs: number;
  /** 0: the gateway has not answered. */
  readonly status: number;
  /** The whole answer arrived. */
  readonly isWhole: boolean;
  readonly untilMs: number;
}

interface CallOptions {
  readonly stream?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Accounting {
  readonly fault: string;
  readonly gateway: Gateway;
  readonly clients: number;
  /** Whether a call may have no row, or that of a lost request, because the owner of its row was killed. */
  readonly mayBeLost?: (call: AccountedCall) => boolean;
  readonly servedAfterMs?: number;
}

export class AccountedCalls {
  readonly ended: AccountedCall[] = [];
  #sent = 0;

  /** Sends one to the model of `minted`; resolves when its client has the whole answer, or none. Never rejects. */
  async send(
    gateway: Gateway,
    minted: Minted,
    { stream = false, headers = {} }: CallOptions = {},
  ): Promise<AccountedCall> {
    const place = this.#sent;
    this.#sent += 1;
    const session = `${minted.tenant.id}-${place}`;
    const sentMs = Date.now();
    // every other stream asks for its usage itself, so that both relays are under way
    const body = stream && place % 2 === 0 ? { stream_options: { include_usage: true } } : {};
    let [status, isWhole] = [0, false];
    try {
      const response = await gateway.chat(minted, {
        stream,
        body,
        headers: { ...headers, "x-gateway-session-id": session },
      });
      // Without an id the runtime has answered, because the gateway's code was ended.
      if (response.headers.has("x-gateway-request-id")) status = response.status;
      const text = await response.text();
      isWhole = status === 200 && text.trimEnd().endsWith(stream ? "data: [DONE]" : "}");
    } catch {
      // its connection was cut
    }
    const call = { session, gateway, sentMs, status, isWhole, untilMs: Date.now() };
    this.ended.push(call);
    return call;
  }

  /**
   * Waits until each call has its row, that row is true, and budget and rollup are the sum of the rows; adds the line to the table
   * and checks it.
   */
  async account(
    { tenant }: Minted,
    { fault, gateway, clients, mayBeLost = () => false, servedAfterMs }: Accounting,
  ): Promise<void> {
    const owed = this.ended.filter((call) => !mayBeLost(call));
    const read = async () => {
      const rows = await gateway.allRows(tenant.id);
      const bySession = new Map<string, UsageLog[]>(this.ended.map(({ session }) => [session, []]));
      for (const row of rows) bySession.get(row.session_id ?? "")?.push(row);
      const wrong = this.ended.flatMap((call) =>
        (bySession.get(call.session) ?? [])
          .filter((row) => !isTrue(call, row, mayBeLost(call)))
          .map((row) => ({ call, row })),
      );
      const [daily] = await gateway.must<DailyUsage[]>("GET", `/usage/daily?tenant_id=${tenant.id}&group_by=tenant`);
      const usage = await gateway.must<Readonly<Record<string, number>>>("GET", `/tenants/${tenant.id}/budget/usage`);
      const ofRows = (part: (row: UsageLog) => number): number => rows.reduce((sum, row) => sum + part(row), 0);
      const missing = owed.filter(({ session }) => bySession.get(session)?.length === 0);
      const line = {
        fault,
        clients,
        requests: this.ended.length,
        rowsExpected: owed.length,
        rowsFound: owed.length - missing.length,
        doubled: rows.length - [...bySession.values()].filter(({ length }) => length > 0).length,
        wrong: wrong.length,
        rollupOff: (daily?.requests ?? 0) - new Set(rows.map(({ request_id }) => request_id)).size,
        budgetOff: (usage["used_tokens"] ?? 0) - ofRows(({ total_tokens }) => total_tokens),
        dropped: 0,
        deadLetters: 0,
        servedAfterMs,
      };
      const costOff = Math.abs((usage["used_cost_usd"] ?? 0) - ofRows(({ cost_usd }) => cost_usd)) > 1e-6;
      const shown = ({ gateway: { proxyUrl }, ...call }: AccountedCall) => ({ ...call, proxyUrl });
      return {
        line,
        costOff,
        wrong: wrong.slice(0, 3).map(({ call, row }) => ({ ...shown(call), row })),
        missing: missing.slice(0, 3).map(shown),
      };
    };
    const right = { rowsFound: owed.length, doubled: 0, wrong: 0, rollupOff: 0, budgetOff: 0 };
    const isRight = ({ line, costOff }: Awaited<ReturnType<typeof read>>): boolean =>
      !costOff && Object.entries(right).every(([name, count]) => line[name as keyof typeof right] === count);
    // the Cell may be moving to another owner
    const readable = async () => await read().catch(() => null);
    const found =
      (await waitFor(readable, (seen) => seen !== null && isRight(seen)).catch(() => null)) ?? (await read());
    reportFault(found.line);
    expect(found).toMatchObject({ line: right, costOff: false, wrong: [], missing: [] });
  }
}

/** Whether a row says what became of its call. */
function isTrue({ isWhole, status }: AccountedCall, row: UsageLog, mayBeLost: boolean): boolean {
  const isServed = Object.entries(TRUE_ROW).every(([name, value]) => row[name as keyof UsageLog] === value);
  if (isWhole) return isServed || (mayBeLost && isLost(row));
  if (status > 200) return row.status_code === status && row.total_tokens === 0;
  // The client of an answer that was cut off cannot tell whether the gateway had all of it.
  return isServed ? mayBeLost : isLost(row);
}

/** A request whose client is gone, or that the gateway ended, if its answer had begun with an event for the error. */
function isLost({ status_code, error_code }: UsageLog): boolean {
  if (status_code === 200) return error_code === "scheduler_unavailable";
  return status_code === 499 ? error_code === "client_gone" : status_code >= 500;
}
