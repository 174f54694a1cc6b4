/** The isolates of a Cell for tests, with the real admission. */
import { vi } from "vitest";
import type {
  ExchangeAnswer,
  ExchangeMessage,
  SessionOpening,
} from "../../../../edge/domain/admission/exchange-messages.ts";
import type { AdmissionRequest, Settlement } from "../../../../edge/domain/admission/rpc.ts";
import type { MemberSession, Members } from "../../../../edge/objects/cell/members.ts";
import type { UsageRow } from "../../../../shared/usage/usage-row.ts";
import { AdmissionHarness } from "./admission-harness.ts";
import { admissionRequestOf, EMPTY_MESSAGE } from "./admission-requests.ts";

/** How long the requests of an isolate without a session keep what they hold (members.ts), ms. */
export const GRACE_MS = 2_000;
/** After that their rows wait for so long (admission-machine.ts), ms. */
export const ROW_WAITS_MS = 6_000;
export const NEWS_MS = 50;

/** A test moves the time. */
export class MembersHarness {
  readonly world: AdmissionHarness;
  /** Rows of requests that asked for no slot; with a mark if they may have come before. */
  readonly recorded: string[] = [];
  #messages = 0;
  stores: (row: UsageRow) => Promise<void> = async () => undefined;

  /** `before`: the isolates that had requests when the Cell was reset. */
  constructor(slots: number, before: readonly string[] = []) {
    this.world = new AdmissionHarness("weighted", slots, undefined, { before });
    this.world.record = async ({ row }, again) => {
      this.recorded.push(again ? `${row.request_id} again` : row.request_id);
      await this.stores(row);
    };
  }

  get members(): Members {
    return this.world.members;
  }

  get failures(): readonly unknown[] {
    return this.world.failures;
  }

  open(
    asks: readonly AdmissionRequest[] = [],
    member: Partial<SessionOpening> = {},
    message: Partial<ExchangeMessage> = {},
  ) {
    return this.members.open(
      { member: "isolate", waiting: [], running: [], others: [], ...member },
      this.message({ asks, ...message }),
    );
  }

  exchange(session: MemberSession, message: Partial<ExchangeMessage> = {}): ExchangeAnswer {
    return this.members.exchange(session, this.message(message));
  }

  message(parts: Partial<ExchangeMessage>): ExchangeMessage {
    this.#messages += 1;
    return { ...EMPTY_MESSAGE, n: this.#messages, ...parts };
  }

  get rows() {
    return this.world.rows.map((row) => [row.request_id, row.status_code, row.total_tokens]);
  }

  get load() {
    return this.world.load;
  }

  states(...ids: readonly string[]) {
    return Object.fromEntries(ids.map((id) => [id, this.world.stateOf(id)]));
  }

  async pass(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
}

export const requestOf = (id: string, tenant = "t") => admissionRequestOf(id, tenant);

/** An end as the isolate sends it. */
export const endOf = (id: string): Settlement => ({
  row: { ...requestOf(id).row, status_code: 200, total_tokens: 3 },
  actualTokens: 3,
});

export const verdicts = ({ decided }: ExchangeAnswer) => decided.map(([id, { verdict }]) => `${id} ${verdict}`);
