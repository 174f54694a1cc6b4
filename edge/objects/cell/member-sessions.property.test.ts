/**
 * An isolate and its Cell, the real memory of each, over sessions that break, messages and answers that are lost, messages that come
 * twice, and sessions whose end the Cell sees late: each request is answered, has one row, and leaves nothing behind.
 */
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { EMPTY_MESSAGE } from "../../../test/harness/edge/cell/admission-requests.ts";
import { MembersHarness, requestOf } from "../../../test/harness/edge/cell/members-harness.ts";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import type { ExchangeAnswer, ExchangeMessage } from "../../domain/admission/exchange-messages.ts";
import { MemberTable } from "../../domain/admission/member-table.ts";
import type { MemberSession } from "./members.ts";

/** After so long without a session the row of a request is written, and its true row comes too late, ms. */
const ROW_WRITTEN_MS = 8_000;

beforeEach(() => vi.useFakeTimers());

const who = fc.nat(99);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("ask" as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom("end" as const, "die" as const), who }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("exchange" as const),
      goes: fc.constantFrom(
        "well" as const,
        "well" as const,
        "twice" as const,
        "unheard" as const,
        "unanswered" as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom("break" as const, "notice" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("pass" as const), ms: fc.constantFrom(50, 500, 2_000, 6_000) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A request that was given up is listed in a session whose answer is lost, and ends later than its row would be written. */
const LISTED_WITHOUT_ANSWER: Step[] = [
  { type: "ask" },
  { type: "exchange", goes: "well" },
  { type: "exchange", goes: "unheard" },
  { type: "notice" },
  { type: "pass", ms: 6_000 },
  { type: "exchange", goes: "unanswered" },
  { type: "pass", ms: 2_000 },
];

class Isolate {
  readonly stage = new MembersHarness(2);
  readonly table = new MemberTable();
  /** The knowledge of each request's code. */
  readonly requests = new Map<string, "asks" | "waits" | "runs" | "ended" | "dead">();
  longestOutageMs = 0;
  #outageMs = 0;
  #session: MemberSession | null = null;
  /** Sessions that are broken, and the Cell has not seen it. */
  #broken: MemberSession[] = [];

  async take(one: Step): Promise<void> {
    if (one.type === "ask") this.#start(`r${this.requests.size}`);
    else if (one.type === "exchange") this.exchange(one.goes);
    else if (one.type === "pass") await this.pass(one.ms);
    else if ("who" in one) {
      const [id, stands] = [...this.requests][one.who % Math.max(1, this.requests.size)] ?? ["", "ended"];
      if (one.type === "end" && stands === "runs") this.end(id);
      else if (one.type === "die" && stands !== "ended") this.#die(id);
    } else if (one.type === "break") this.#lose();
    else this.notice();
    await this.pass(0);
  }

  exchange(goes: "well" | "twice" | "unheard" | "unanswered"): void {
    const message = this.#session === null ? this.table.first() : (this.table.take() ?? EMPTY_MESSAGE);
    if (goes === "unheard") {
      this.#lose();
      return;
    }
    const answer = this.#carry(message);
    // The same message, as an earlier session may still deliver it.
    const again =
      goes === "twice" && this.#session !== null ? this.stage.members.exchange(this.#session, message) : null;
    if (goes === "unanswered") {
      this.#lose();
      return;
    }
    this.table.applyAnswer(answer, message.departures);
    if (again !== null) this.table.applyAnswer(again, message.departures);
    // Requests that the Cell did not know are returned at once.
    if (this.table.isUrgent) this.exchange("well");
  }

  notice(): void {
    for (const session of this.#broken.splice(0)) this.stage.members.end(session);
  }

  async pass(ms: number): Promise<void> {
    if (this.#session === null) this.#outageMs += ms;
    this.longestOutageMs = Math.max(this.longestOutageMs, this.#outageMs);
    await this.stage.pass(ms);
  }

  end(id: string): void {
    this.requests.set(id, "ended");
    this.table.end({ row: { ...requestOf(id).row, status_code: 200, total_tokens: 3 }, actualTokens: 3 });
  }

  #carry(message: ExchangeMessage): ExchangeAnswer {
    const { members } = this.stage;
    if (this.#session !== null) return members.exchange(this.#session, message);
    const { session, answer } = members.open({ member: "isolate", ...this.table.living() }, message);
    this.#session = session;
    this.#outageMs = 0;
    void this.#listen(session);
    return answer;
  }

  async #listen(session: MemberSession): Promise<void> {
    while (!session.isOver) {
      const answer = await this.stage.members.news(session);
      if (session === this.#session) this.table.applyAnswer(answer);
    }
  }

  #lose(): void {
    if (this.#session !== null) this.#broken.push(this.#session);
    this.#session = null;
    this.table.sendAgain();
  }

  #die(id: string): void {
    this.requests.set(id, "dead");
    this.table.depart(id);
  }

  /** The code of a request: it asks until it runs. */
  #start(id: string): void {
    const isOpen = (): boolean => ["asks", "waits"].includes(this.requests.get(id) ?? "");
    const ask = async (waitedMs: number | null): Promise<void> => {
      this.requests.set(id, "asks");
      const first = await this.table.ask({ ...requestOf(id), waitedMs });
      if (!isOpen()) return;
      if (first.verdict === "waiting") this.requests.set(id, "waits");
      const decision = first.verdict === "waiting" ? await this.table.decision(id) : first;
      if (!isOpen()) return;
      if (decision.verdict === "stale") await ask(0);
      else this.requests.set(id, "runs");
    };
    void ask(null).catch(() => undefined);
  }
}

it("answers each request, writes one row for it, and keeps nothing of it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
      const isolate = new Isolate();
      const { stage, table, requests } = isolate;
      for (const one of steps) await isolate.take(one);
      // Each request runs in the end, because others end before it.
      for (let round = 0; round <= 2 * requests.size + 20; round += 1) {
        isolate.exchange("well");
        isolate.notice();
        await isolate.pass(50);
        for (const [id, stands] of requests) if (stands === "runs") isolate.end(id);
      }
      await isolate.pass(ROW_WRITTEN_MS);
      isolate.exchange("well");
      const alive = [...requests.values()].filter((stands) => stands !== "ended" && stands !== "dead");
      expect({ alive, isEmpty: table.isEmpty, load: stage.load }).toEqual({
        alive: [],
        isEmpty: true,
        load: { inFlight: 0, queued: 0, entries: 0 },
      });
      const rowIds = stage.world.rows.map((row) => row.request_id);
      expect(rowIds).toHaveLength(new Set(rowIds).size);
      for (const [id, stands] of requests) {
        if (stands !== "ended") continue;
        const row = stage.world.rows.find((one) => one.request_id === id);
        expect({ id, hasRow: row !== undefined }).toEqual({ id, hasRow: true });
        if (isolate.longestOutageMs < ROW_WRITTEN_MS)
          expect({ id, status: row?.status_code }).toEqual({ id, status: 200 });
      }
    }),
    { numRuns: propertyRuns(400), examples: [[LISTED_WITHOUT_ANSWER]] },
  );
});
